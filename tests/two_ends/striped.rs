//! Batches over all rails, from start to end.

use super::{Server, end, load_of, nobody, params};
use crate::standin::over_the_stand_ins;
use probes::load::{Params, Shape};
use probes::model::LoadOp;
use railscope::peer::Ended;

fn striped() -> Params {
    Params { shape: Shape::Striped, batch: 8, workers: 2, ..params() }
}

#[test]
fn a_striped_load_has_batches_their_latency_and_a_read_window_on_each_rail() {
    over_the_stand_ins(&[], || {
        let server = Server::start(end("n2", "there"));
        let (report, ended) = load_of(&server, end("n1", "here"), striped(), nobody());
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        let block = &report["load"];
        assert_eq!((&block["batch"], &block["workers"]), (&8.into(), &2.into()), "{block}");
        assert_eq!((&block["errors"], &block["failures"]), (&serde_json::json!({}), &serde_json::json!([])));
        assert!(block["latency_us"]["p50"].as_f64().unwrap() > 0.0, "of whole batches: {block}");
        for rail in report["rails"].as_array().unwrap() {
            assert!(rail["load_gb_per_s"].as_f64().unwrap() > 0.0, "{rail}");
            assert!(rail["round_trip_us"].as_f64().unwrap() > 0.0, "{rail}");
            assert!(rail["ceilings_gb_per_s"]["read_window"].as_f64().unwrap() > 0.0, "{rail}");
        }
        let said = server.stop_after_one_client();
        assert!(said[0].contains("batches of 8 pages of 4K striped over 2 rails by 2 threads"), "{said:?}");
        assert!(said[1].contains("over 2 of 2 rails"), "{said:?}");
    });
}

#[test]
fn what_a_striped_load_writes_is_checked_by_the_server_and_has_no_read_window() {
    over_the_stand_ins(&[], || {
        let server = Server::start(end("n2", "there"));
        let params = Params { op: LoadOp::Write, ..striped() };
        let (report, ended) = load_of(&server, end("n1", "here"), params, nobody());
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        assert_eq!(report["load"]["errors"], serde_json::json!({}), "{report}");
        assert!(report["rails"][0]["ceilings_gb_per_s"]["read_window"].is_null(), "{report}");
        server.stop_after_one_client();
    });
}

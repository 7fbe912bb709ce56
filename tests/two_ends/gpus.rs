//! Data in the memory of a GPU, on either end.

use super::{Server, end, load, load_of, nobody, params};
use crate::standin::over_the_stand_ins;
use probes::load::{Memory, Params};
use railscope::peer::End;
use railscope::peer::client::connect;

#[test]
fn each_end_may_have_its_data_in_a_gpu() {
    over_the_stand_ins(&[], || {
        let in_gpu = |end: End| end.with_memory(Memory::Gpu(1)).unwrap();
        let into_gpu = Params { memory: Memory::Gpu(1), ..params() };
        let server = Server::start(end("n2", "there"));
        let (report, _) = load_of(&server, in_gpu(end("n1", "here")), into_gpu, nobody());
        assert_eq!(report["load"]["errors"], serde_json::json!({}));
        assert_eq!(report["load"]["gpu"], "0000:1c:00.0");
        assert_eq!(report["load"]["threads"][1]["registered"], "dmabuf");
        server.stop();

        let server = Server::start(in_gpu(end("n2", "there")));
        let connected = connect(end("n1", "here"), server.target(), params(), nobody()).unwrap();
        let said = connected.agreed.introduction(&[]);
        let of_the_peer = "data of n2: in the memory of its GPU 1, registered as a dmabuf";
        assert!(said.iter().any(|line| line == of_the_peer), "{said:?}");
        drop(connected);
        let (report, _) = load(&server, end("n1", "here"));
        assert_eq!(report["load"]["errors"], serde_json::json!({}));
        server.stop();
    });
}

#[test]
fn a_gpu_that_no_device_reaches_is_one_error_on_both_ends() {
    let no_way = [("STANDIN_CUDA_NO_DMABUF", "1")];
    over_the_stand_ins(&no_way, || {
        let server = Server::start(end("n2", "there").with_memory(Memory::Gpu(0)).unwrap());
        let said = connect(end("n1", "here"), server.target(), params(), nobody()).err().unwrap().to_string();
        assert!(said.contains("n2 (127.0.0.1): stand0: the memory of GPU 0 (Stand-in H100"), "{said}");
        assert!(
            said.contains("either helps: modprobe nvidia-peermem, or an NVIDIA driver from 515 on"),
            "{said}"
        );
        let said = server.stop_after_one_client();
        assert!(said[1].contains("either helps: modprobe nvidia-peermem"), "{said:?}");
    });
}

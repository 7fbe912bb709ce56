//! Who shows that it knows the token, and who does not.

use super::Served;
use crate::peer::error::PeerError;
use crate::peer::link::Link;
use crate::peer::message::{Hello, Message};
use crate::peer::token::Token;
use crate::peer::{Door, End, fake};
use std::sync::atomic::Ordering;
use tokio::net::TcpStream;

/// A door with this secret.
fn door(secret: &str) -> Door {
    Door { token: Some(Token::new(secret.as_bytes().to_vec()).unwrap()), ..Door::default() }
}

/// A client with this door.
fn visitor(door: Door) -> End {
    End { door, ..fake::end("n1", 1) }
}

#[tokio::test]
async fn both_ends_with_one_token_agree() {
    let server = Served::behind(door("0123456789abcdef")).await;
    let (_link, agreed, _traffic) = server.join(&visitor(door("0123456789abcdef"))).await.unwrap();
    assert_eq!(agreed.plan.lines.len(), 2);
}

#[tokio::test]
async fn a_client_without_the_token_is_one_line_on_both_ends() {
    let server = Served::behind(door("0123456789abcdef")).await;
    let error = server.join(&visitor(Door::default())).await.err().unwrap().to_string();
    assert!(error.contains("serves only who knows its token: give --token FILE"), "{error}");
    let error = server.join(&visitor(door("fedcba9876543210"))).await.err().unwrap().to_string();
    assert!(error.contains("the token of the client is not the one that this `railscope serve`"), "{error}");
    let lines = server.stop().await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("n1 (127.0.0.1) says: ") && lines[0].contains("--token FILE"), "{lines:?}");
    assert!(lines[1].starts_with("n1 (127.0.0.1): the token of the client is not the one"), "{lines:?}");
}

#[tokio::test]
async fn a_client_with_a_token_does_not_trust_a_server_without() {
    let server = Served::new().await;
    let error = server.join(&visitor(door("0123456789abcdef"))).await.err().unwrap().to_string();
    assert!(
        error.contains("was started without --token, so it cannot show that it knows this one"),
        "{error}"
    );
}

#[tokio::test]
async fn who_leaves_the_proof_out_or_sends_the_challenge_back_learns_no_rail() {
    let server = Served::behind(door("0123456789abcdef")).await;
    for trick in 0..2 {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let mut link = Link::greet(stream, "n2".to_owned(), fake::end("x", 9).timing).await.unwrap();
        let me = Hello { host: "x".to_owned(), version: "0.1.0".to_owned(), boot_id: None };
        link.send(Message::Hello(me)).await.unwrap();
        let Message::Challenge { nonce } = link.next().await.unwrap() else { panic!("it asks first") };
        let answer = match trick {
            0 => Message::Ready,
            _ => Message::Proof { nonce: Some(nonce.clone()), proof: nonce },
        };
        link.send(answer).await.unwrap();
        let said = link.next().await.unwrap_err();
        assert!(matches!(said, PeerError::Refused { .. }), "{said}");
    }
    assert_eq!(server.engine.alive.load(Ordering::SeqCst), 0);
}

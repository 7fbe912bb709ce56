//! Both ends show that they know the token, before any rail is told.

use super::end::End;
use super::error::PeerError;
use super::link::Link;
use super::message::Message;
use super::token::{Nonce, Prover};

/// Asks a client to show that it knows our token, and shows it that we do; nothing without a token.
pub(super) async fn ask(link: &mut Link, end: &End) -> Result<(), PeerError> {
    let Some(token) = &end.door.token else { return Ok(()) };
    let ours = Nonce::random().map_err(PeerError::NoRandom)?;
    link.send(Message::Challenge { nonce: ours.text() }).await?;
    let limit = link.timing().answer;
    let (nonce, proof) = match link.next_within(limit, "its proof that it knows the token").await? {
        Message::Proof { nonce: Some(nonce), proof } => (nonce, proof),
        other => return Err(link.out_of_turn(&other, "its proof that it knows the token")),
    };
    let theirs = Nonce::parse(&nonce);
    let theirs = theirs.filter(|theirs| token.is_proven(&proof, Prover::Client, theirs, &ours));
    let Some(theirs) = theirs else {
        return Err(PeerError::Token(
            "the token of the client is not the one that this `railscope serve` was started with".to_owned(),
        ));
    };
    let proof = token.proof(Prover::Server, &theirs, &ours);
    link.send(Message::Proof { nonce: None, proof }).await
}

/// Answers a server's first message where it asks for the token, and returns its first message after that.
pub(super) async fn answer(link: &mut Link, end: &End, first: Message) -> Result<Message, PeerError> {
    let peer = link.peer().to_owned();
    let (token, nonce) = match (&end.door.token, first) {
        (None, Message::Challenge { .. }) => {
            return Err(PeerError::Token(format!(
                "{peer} serves only who knows its token: give --token FILE with the same secret"
            )));
        }
        (Some(token), Message::Challenge { nonce }) => (token, nonce),
        (Some(_), Message::Hello(_)) => {
            return Err(PeerError::Token(format!(
                "{peer} was started without --token, so it cannot show that it knows this one: start it with --token \
                 FILE, or leave it out here"
            )));
        }
        (_, other) => return Ok(other),
    };
    let theirs =
        Nonce::parse(&nonce).ok_or_else(|| link.out_of_turn(&Message::Ready, "a challenge of 32 bytes"))?;
    let ours = Nonce::random().map_err(PeerError::NoRandom)?;
    let proof = token.proof(Prover::Client, &ours, &theirs);
    link.send(Message::Proof { nonce: Some(ours.text()), proof }).await?;
    let limit = link.timing().answer;
    match link.next_within(limit, "its proof that it knows the token").await? {
        Message::Proof { proof, .. } if token.is_proven(&proof, Prover::Server, &ours, &theirs) => {}
        Message::Proof { .. } => {
            return Err(PeerError::Token(format!(
                "{peer} does not know the token: it is not the server that is meant"
            )));
        }
        other => return Err(link.out_of_turn(&other, "its proof that it knows the token")),
    }
    link.next_within(limit, "its name").await
}

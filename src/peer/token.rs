//! A secret that both ends know, and prove to know before any rail is told.
//!
//! ```text
//! client                                 server
//!   Hello                             ─▶
//!                                     ◀─ Challenge: 32 random bytes
//!   Proof: 32 random bytes, and       ─▶
//!     HMAC(token, client, both)
//!                                     ◀─ Proof: HMAC(token, server, both)
//!                                     ◀─ Hello, Rails …
//! ```
//! HMAC-SHA256 (RFC 2104, FIPS 180-4). The token itself is never sent, and what is sent is of no use in another
//! connection, as both ends chose a part of it. It keeps strangers out; it neither hides nor guards what comes after.

use hmac::{Hmac, Mac};
use probes::bounded;
use sha2::Sha256;
use std::fmt::{self, Write};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Fewest bytes of a token: fewer can be tried out from one overheard proof.
const FEWEST_BYTES: usize = 16;
/// A token is a line.
const MOST_BYTES: u64 = 4096;

/// The secret.
#[derive(Clone)]
pub struct Token(Vec<u8>);

/// Never shows the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prover {
    Client,
    Server,
}

impl Token {
    /// The token in a file: its bytes without one newline at the end.
    ///
    /// # Errors
    ///
    /// It is no regular file, cannot be read, is of another user than this one and root, others may read it, or it
    /// holds no secret.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let facts = std::fs::metadata(path).map_err(|error| format!("--token {name}: {error}"))?;
        // a pipe would be waited for, and a device has no end
        if !facts.is_file() {
            return Err(format!("--token {name}: it is no regular file; name a file that holds the secret"));
        }
        Self::check_owner(facts.uid(), std::fs::metadata("/proc/self").map(|own| own.uid()).ok())
            .map_err(|reason| format!("--token {name}: {reason}"))?;
        let mode = facts.mode();
        if mode & 0o007 != 0 {
            return Err(format!(
                "--token {name}: everybody on this host may read or change it (mode {:03o}), so it is no secret; \
                 `chmod 600 {name}`",
                mode & 0o777
            ));
        }
        let bytes = bounded::read(path, MOST_BYTES).map_err(|error| format!("--token {name}: {error}"))?;
        Self::new(bytes).map_err(|reason| format!("--token {name}: {reason}"))
    }

    /// Whether a file of this user may hold our secret; `None` of us is unknown, and no reason to refuse.
    fn check_owner(owner: u32, own: Option<u32>) -> Result<(), String> {
        match own {
            Some(own) if owner != own && owner != 0 => Err(format!(
                "it belongs to user {owner}, who may change it, and not to you (user {own}) or root; copy it to a \
                 file of your own"
            )),
            _ => Ok(()),
        }
    }

    /// A token of these bytes, without one newline at the end.
    pub(super) fn new(mut bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.len() < FEWEST_BYTES {
            return Err(format!(
                "{} bytes are too few for a secret, {FEWEST_BYTES} are the least; \
                 `head -c 32 /dev/urandom | base64` makes one",
                bytes.len()
            ));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(
                "it holds only blanks, which are no secret; `head -c 32 /dev/urandom | base64` makes one"
                    .to_owned(),
            );
        }
        Ok(Self(bytes))
    }

    fn mac(&self, prover: Prover, client: &Nonce, server: &Nonce) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(match prover {
            Prover::Client => b"railscope token 1 client",
            Prover::Server => b"railscope token 1 server",
        });
        mac.update(&client.0);
        mac.update(&server.0);
        mac
    }

    /// What shows that this end knows the token, in hexadecimal.
    pub(super) fn proof(&self, prover: Prover, client: &Nonce, server: &Nonce) -> String {
        hexadecimal(&self.mac(prover, client, server).finalize().into_bytes())
    }

    /// Whether `proof` shows that the other end knows it; takes the same time for every wrong one.
    pub(super) fn is_proven(&self, proof: &str, prover: Prover, client: &Nonce, server: &Nonce) -> bool {
        bytes_of::<32>(proof)
            .is_some_and(|proof| self.mac(prover, client, server).verify_slice(&proof).is_ok())
    }
}

/// Random bytes of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonce([u8; 32]);

impl Nonce {
    /// Fresh ones.
    ///
    /// # Errors
    ///
    /// The system gives none.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Those of the other end; `None` when they are none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        bytes_of(text).map(Self)
    }

    /// In hexadecimal.
    pub(super) fn text(&self) -> String {
        hexadecimal(&self.0)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // writing to a String cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Nonce, Prover, Token};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_proof_holds_for_its_token_its_prover_and_its_connection_alone() {
        let token = Token::new(b"sixteen bytes or more".to_vec()).unwrap();
        let other = Token::new(b"sixteen bytes or less".to_vec()).unwrap();
        let [client, server] = [Nonce([1; 32]), Nonce([2; 32])];
        let proof = token.proof(Prover::Client, &client, &server);
        assert!(token.is_proven(&proof, Prover::Client, &client, &server));
        assert!(!token.is_proven(&proof, Prover::Server, &client, &server), "it cannot be sent back");
        assert!(!token.is_proven(&proof, Prover::Client, &Nonce([3; 32]), &server));
        assert!(!token.is_proven(&proof, Prover::Client, &server, &client));
        assert!(!other.is_proven(&proof, Prover::Client, &client, &server));
        for bad in ["", "00", &"z".repeat(64), &"é".repeat(32), &proof[..62]] {
            assert!(!token.is_proven(bad, Prover::Client, &client, &server), "{bad}");
        }
    }

    #[test]
    fn a_proof_is_hmac_sha256() {
        // computed with Python's hmac module
        let token = Token::new(vec![0x0b; 20]).unwrap();
        let proof = token.proof(Prover::Client, &Nonce([0; 32]), &Nonce([0xff; 32]));
        assert_eq!(proof, "052afac9f9e9c42cda45678edcd7c1c66b39181c7c6ca35f824176dcd96e947e");
    }

    #[test]
    fn nonces_are_fresh_and_survive_the_wire() {
        let [one, other] = [Nonce::random().unwrap(), Nonce::random().unwrap()];
        assert_ne!(one, other);
        assert_eq!(Nonce::parse(&one.text()), Some(one));
        assert_eq!(Nonce::parse("short"), None);
    }

    #[test]
    fn a_token_file_is_a_secret_of_some_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Token::read(&path)
        };
        assert_eq!(read("0123456789abcdef\n", 0o600).unwrap().0, b"0123456789abcdef");
        assert_eq!(read("0123456789abcde\n\n", 0o640).unwrap().0, b"0123456789abcde\n");
        let said = read("0123456789abcde\n", 0o600).unwrap_err();
        assert!(said.contains("15 bytes are too few for a secret, 16 are the least"), "{said}");
        let said = read("0123456789abcdef\n", 0o644).unwrap_err();
        assert!(said.contains("everybody on this host may read or change it (mode 644)"), "{said}");
        assert!(said.contains("chmod 600"), "{said}");
        assert!(Token::read(&folder.path().join("none")).unwrap_err().contains("none: No such file"));
        let said = read(&" ".repeat(40), 0o600).unwrap_err();
        assert!(said.contains("only blanks"), "{said}");
        let shown = format!("{:?}", Token::new(vec![b'x'; 16]).unwrap());
        assert_eq!(shown, "Token");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [folder.path(), &socket, std::path::Path::new("/dev/zero")] {
            let said = Token::read(path).unwrap_err();
            assert!(said.contains("it is no regular file") && !said.contains("chmod"), "{said}");
        }
    }

    #[test]
    fn a_file_of_somebody_else_is_no_secret() {
        Token::check_owner(1000, Some(1000)).unwrap();
        Token::check_owner(0, Some(1000)).unwrap();
        Token::check_owner(1001, None).unwrap();
        let said = Token::check_owner(1001, Some(1000)).unwrap_err();
        assert!(said.starts_with("it belongs to user 1001, who may change it"), "{said}");
    }
}

//! Bytes of the control connection: a greeting line, then messages with their length before them.
//!
//! The greeting is `railscope PROTOCOL VERSION\n`, text, the same in every version, so that two versions can
//! name each other. A message is its length in four bytes, most significant first, and JSON.

use super::error::PeerError;
use super::message::{Message, PROTOCOL};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Largest message, bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// Longest greeting, bytes.
const LONGEST_GREETING: u64 = 64;

const MAGIC: &str = "railscope";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Says who speaks.
pub async fn write_greeting(to: &mut (impl AsyncWrite + Unpin), peer: &str) -> Result<(), PeerError> {
    let line = format!("{MAGIC} {PROTOCOL} {VERSION}\n");
    to.write_all(line.as_bytes()).await.map_err(|cause| broken(peer, cause))
}

/// Hears who speaks; an error unless it is railscope with our protocol.
pub async fn read_greeting(
    from: &mut (impl AsyncBufRead + Unpin),
    peer: &str,
    within: Duration,
) -> Result<(), PeerError> {
    let mut line = Vec::new();
    let heard = async {
        // what does not begin as a greeting is no greeting: do not wait for its end of line
        while line.len() < MAGIC.len() {
            let byte = match from.read_u8().await {
                Ok(byte) => byte,
                Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(cause) => return Err(cause),
            };
            line.push(byte);
        }
        if line == MAGIC.as_bytes() {
            from.take(LONGEST_GREETING).read_until(b'\n', &mut line).await?;
        } else {
            // enough of it to say what it is
            let more = from.fill_buf().await?;
            line.extend(more.iter().take(32));
        }
        Ok(())
    };
    let heard = tokio::time::timeout(within, heard).await;
    if let Ok(Err(cause)) = heard {
        return Err(broken(peer, cause));
    }
    if heard.is_err() && line.is_empty() {
        return Err(PeerError::Mute { peer: peer.to_owned(), seconds: within.as_secs_f64() });
    }
    if line.is_empty() {
        return Err(PeerError::Closed { peer: peer.to_owned() });
    }
    let text = String::from_utf8_lossy(&line);
    match parse_greeting(&text) {
        Some((PROTOCOL, _)) => Ok(()),
        Some((theirs, version)) => Err(PeerError::OtherProtocol {
            peer: peer.to_owned(),
            theirs,
            their_version: version.to_owned(),
            ours: PROTOCOL,
            our_version: VERSION,
        }),
        None => Err(PeerError::Foreign { peer: peer.to_owned(), what: kind_of_foreigner(&line) }),
    }
}

fn parse_greeting(line: &str) -> Option<(u32, &str)> {
    let (protocol, version) =
        line.strip_suffix('\n')?.strip_prefix(MAGIC)?.strip_prefix(' ')?.split_once(' ')?;
    let plain = version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    Some((protocol.parse().ok()?, version)).filter(|_| plain)
}

fn kind_of_foreigner(line: &[u8]) -> String {
    const KNOWN: [(&[u8], &str); 8] = [
        (b"HTTP/", "a web server"),
        (b"GET ", "a web browser or probe"),
        (b"HEAD ", "a web browser or probe"),
        (b"POST ", "a web client"),
        (b"SSH-", "an SSH server"),
        (b"\x16\x03", "TLS"),
        (b"220 ", "a mail or FTP server"),
        (b"PRI * HTTP/2", "an HTTP/2 client"),
    ];
    if let Some((_, name)) = KNOWN.iter().find(|(start, _)| line.starts_with(start)) {
        return (*name).to_owned();
    }
    let said = line.iter().rposition(|byte| *byte != 0).map_or(&line[..0], |end| &line[..=end]);
    // perftest begins with its version, such as `6.06`, in sixteen bytes
    if said.len() < line.len()
        && said.contains(&b'.')
        && said.iter().all(|b| b.is_ascii_digit() || *b == b'.')
    {
        return format!("perftest {}", String::from_utf8_lossy(said));
    }
    let shown: String =
        String::from_utf8_lossy(line).chars().take(24).flat_map(char::escape_default).collect();
    format!("it says \"{shown}\"")
}

/// Sends one message.
pub async fn write_message(
    to: &mut (impl AsyncWrite + Unpin),
    message: &Message,
    peer: &str,
) -> Result<(), PeerError> {
    let no_message = |cause| PeerError::NoMessage { peer: peer.to_owned(), protocol: PROTOCOL, cause };
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).map_err(no_message)?;
    let length = bytes.len() - 4;
    let head = u32::try_from(length).ok().filter(|_| length <= MOST_BYTES);
    let Some(head) = head else {
        return Err(PeerError::TooLong { peer: peer.to_owned(), bytes: length, most: MOST_BYTES });
    };
    bytes[..4].copy_from_slice(&head.to_be_bytes());
    to.write_all(&bytes).await.map_err(|cause| broken(peer, cause))
}

/// Receives one message; memory grows with what has come, not with what was announced.
pub async fn read_message(from: &mut (impl AsyncRead + Unpin), peer: &str) -> Result<Message, PeerError> {
    let length = match from.read_u32().await {
        Ok(length) => usize::try_from(length).unwrap_or(usize::MAX),
        Err(cause) => return Err(broken(peer, cause)),
    };
    if length > MOST_BYTES {
        return Err(PeerError::TooLong { peer: peer.to_owned(), bytes: length, most: MOST_BYTES });
    }
    let mut bytes = Vec::new();
    let read = from.take(length as u64).read_to_end(&mut bytes).await.map_err(|cause| broken(peer, cause))?;
    if read < length {
        return Err(PeerError::Closed { peer: peer.to_owned() });
    }
    serde_json::from_slice(&bytes).map_err(|cause| PeerError::NoMessage {
        peer: peer.to_owned(),
        protocol: PROTOCOL,
        cause,
    })
}

/// An error of the connection; its plain end and its reset are one thing to people.
pub(super) fn broken(peer: &str, cause: io::Error) -> PeerError {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let peer = peer.to_owned();
    match cause.kind() {
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => PeerError::Closed { peer },
        _ => PeerError::Broken { peer, cause },
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, read_greeting, read_message, write_greeting, write_message};
    use crate::peer::message::{Hello, Message};
    use std::time::Duration;
    use tokio::io::BufReader;

    const SOON: Duration = Duration::from_secs(3);

    async fn greeted(bytes: &[u8]) -> Result<(), String> {
        read_greeting(&mut BufReader::new(bytes), "n2:18520", SOON).await.map_err(|e| e.to_string())
    }

    #[tokio::test]
    async fn our_own_greeting_is_understood() {
        let mut bytes = Vec::new();
        write_greeting(&mut bytes, "n2").await.unwrap();
        assert_eq!(greeted(&bytes).await, Ok(()));
    }

    #[tokio::test]
    async fn another_version_is_named_with_both_numbers() {
        let said = greeted(b"railscope 7 2.0.1\n").await.unwrap_err();
        assert_eq!(
            said,
            format!(
                "n2:18520 runs railscope 2.0.1 (control protocol 7), this is railscope {} \
                 (control protocol 2): install the same version on both hosts",
                env!("CARGO_PKG_VERSION")
            )
        );
    }

    #[tokio::test]
    async fn what_is_not_railscope_is_named() {
        for (bytes, what) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], "(a web server)"),
            (b"GET / HTTP/1.1\r\n", "(a web browser or probe)"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "(an SSH server)"),
            (b"6.06\0\0\0\0\0\0\0\0\0\0\0\0", "(perftest 6.06)"),
            (b"0000:000000", "(it says \"0000:000000\")"),
            (b"\x00\x01\xff", "(it says \"\\u{0}\\u{1}\\u{fffd}\")"),
            (b"railscope\n", "(it says \"railscope\\n\")"),
            (b"railscope 1 0.1.0", "(it says \"railscope 1 0.1.0\")"),
            (b"railscope 1 \x1b[2J\n", "(it says \"railscope 1 \\u{1b}[2J\\n\")"),
        ] {
            let said = greeted(bytes).await.unwrap_err();
            assert!(said.contains(what), "{said}");
        }
        assert!(greeted(&[b'x'; 5000]).await.unwrap_err().len() < 200);
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_not_waited_for() {
        let (near, _far) = tokio::io::duplex(64);
        let error = read_greeting(&mut BufReader::new(near), "n2:18520", SOON).await.unwrap_err();
        assert!(error.to_string().contains("says nothing for 3 s: its railscope is stopped"), "{error}");
    }

    #[tokio::test]
    async fn a_message_comes_back_as_it_was_sent() {
        let sent =
            Message::Hello(Hello { host: "n1".to_owned(), version: "0.1.0".to_owned(), boot_id: None });
        let mut bytes = Vec::new();
        write_message(&mut bytes, &sent, "n2").await.unwrap();
        assert_eq!(&bytes[4..], br#"{"kind":"hello","host":"n1","version":"0.1.0","boot_id":null}"#);
        assert_eq!(read_message(&mut &bytes[..], "n2").await.unwrap(), sent);
    }

    #[tokio::test]
    async fn broken_messages_are_errors_in_words() {
        let framed =
            |json: &str| [&u32::try_from(json.len()).unwrap().to_be_bytes(), json.as_bytes()].concat();
        for (bytes, words) in [
            (framed(r#"{"kind":"dance"}"#), "no message of control protocol 2: unknown variant `dance`"),
            (framed("{"), "no message of control protocol 2: EOF"),
            (framed(""), "no message of control protocol 2: EOF"),
            (vec![0, 0, 0, 9, b'{'], "closed the control connection"),
            (vec![0, 0], "closed the control connection"),
            (u32::MAX.to_be_bytes().to_vec(), "announced a message of 4294967295 bytes"),
        ] {
            let said = read_message(&mut &bytes[..], "n2").await.unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_is_not_sent() {
        let text = "x".repeat(MOST_BYTES);
        let mut bytes = Vec::new();
        assert!(write_message(&mut bytes, &Message::Error { text }, "n2").await.is_err());
        assert!(bytes.is_empty());
    }
}

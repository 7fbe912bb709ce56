//! The peer as typed: `n2`, `n2:18520`, `10.0.0.2`, `[fd00::2]:18520`, `fd00::2`.

use super::error::PeerError;
use crate::cli::DEFAULT_PORT;
use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Host and port to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Target {
    /// Reads what was typed.
    ///
    /// # Errors
    ///
    /// There is no host in it, or the port is no number from 1 to 65535.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with_port(text).map(|(target, _)| target)
    }

    /// The same, with whether the port was named in it.
    pub(super) fn parse_with_port(text: &str) -> Result<(Self, bool), String> {
        let bad = |what: &str| Err(format!("`{text}`: {what}; write HOST, HOST:PORT or [IPV6]:PORT"));
        // a link-local address names its netdev: fe80::2%eth0
        let bare = text.split_once('%').map_or(text, |(address, _)| address);
        let (host, port) = if bare.parse::<Ipv6Addr>().is_ok() {
            (text, None)
        } else if let Some(rest) = text.strip_prefix('[') {
            match rest.split_once(']') {
                Some((host, "")) => (host, None),
                Some((host, port)) if port.starts_with(':') => (host, Some(&port[1..])),
                _ => return bad("a `]` is missing"),
            }
        } else {
            text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
            return bad("that is no host");
        }
        match port.map(str::parse::<u16>) {
            None => Ok((Self { host: host.to_owned(), port: DEFAULT_PORT }, false)),
            Some(Ok(port)) if port != 0 => Ok((Self { host: host.to_owned(), port }, true)),
            Some(_) => bad("the port is no number from 1 to 65535"),
        }
    }

    /// Connects to the first of the host's addresses that answers.
    ///
    /// # Errors
    ///
    /// The name leads nowhere, or no address answers within `limit` each.
    pub async fn connect(&self, limit: Duration) -> Result<(TcpStream, SocketAddr), PeerError> {
        let unresolved = |cause| PeerError::Unresolved { host: self.host.clone(), cause };
        let looked_up = timeout(limit, tokio::net::lookup_host((self.host.as_str(), self.port))).await;
        let addresses: Vec<SocketAddr> =
            looked_up.unwrap_or_else(|late| Err(late.into())).map_err(unresolved)?.collect();
        let mut last = unresolved(io::Error::other("the name has no address"));
        for address in addresses {
            let connected = timeout(limit, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|late| Err(late.into())) {
                Ok(stream) => {
                    // messages are small and wait for answers
                    let _ = stream.set_nodelay(true);
                    return Ok((stream, address));
                }
                Err(cause) => last = self.unreachable(address, cause),
            }
        }
        Err(last)
    }

    fn unreachable(&self, at: SocketAddr, cause: io::Error) -> PeerError {
        let hint = match cause.kind() {
            io::ErrorKind::ConnectionRefused => {
                "is `railscope serve` running there, on this port? It prints the line to type here"
            }
            io::ErrorKind::TimedOut => "is the host up, and does a firewall let this TCP port through?",
            _ => "is the host up, and is there a route to it?",
        };
        let address = match at.ip().to_string() {
            ip if ip == self.host => at.to_string(),
            _ => format!("{self} ({at})"),
        };
        PeerError::Unreachable { address, cause, hint }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn peers_are_read_as_people_write_them() {
        for (text, host, port) in [
            ("n2", "n2", 18520),
            ("n2:9000", "n2", 9000),
            ("10.0.0.2", "10.0.0.2", 18520),
            ("10.0.0.2:1", "10.0.0.2", 1),
            ("fd00::2", "fd00::2", 18520),
            ("[fd00::2]", "fd00::2", 18520),
            ("[fd00::2]:9000", "fd00::2", 9000),
            ("fe80::2%eth0", "fe80::2%eth0", 18520),
            ("[fe80::2%eth0]:9000", "fe80::2%eth0", 9000),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!((target.host.as_str(), target.port), (host, port), "{text}");
        }
        for bad in
            ["", ":18520", "n2:", "n2:0", "n2:70000", "n2:http", "[fd00::2", "[fd00::2]9", "a b", "http://n2"]
        {
            let said = Target::parse(bad).unwrap_err();
            assert!(said.ends_with("write HOST, HOST:PORT or [IPV6]:PORT"), "{said}");
        }
    }

    #[test]
    fn a_target_is_printed_as_it_can_be_typed() {
        assert_eq!(Target::parse("n2").unwrap().to_string(), "n2:18520");
        assert_eq!(Target::parse("fd00::2").unwrap().to_string(), "[fd00::2]:18520");
    }
}

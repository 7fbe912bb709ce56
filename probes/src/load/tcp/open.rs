//! A rail's connections: opened, and found by the peer.

use super::reader::TcpTransport;
use super::target::Answering;
use super::{HELLO_BYTES, MAGIC, Places, TcpEnd, filled};
use crate::addresses::addresses;
use crate::load::{Endpoint, LoadError, Memory, Params, QpAddress, RemoteBuffer, Role};
use crate::model::{LinkLayer, LoadOp, Rail};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// For all connections of a worker to be made; both ends begin at about the same moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// For the first bytes of a connection.
const HELLO_PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at a listener.
const NAP: Duration = Duration::from_millis(1);

/// A rail that listens, or knows its own address.
pub(super) struct OpenTcp {
    pub(super) endpoint: Endpoint,
    device: String,
    params: Params,
    own: SocketAddr,
    /// Of a target.
    listener: Option<TcpListener>,
    memory: Vec<u8>,
}

/// What connected rails do.
pub(super) enum Traffic {
    Reader(TcpTransport),
    Target(Answering),
}

impl OpenTcp {
    /// Finds the rail's address and, of a target, listens there.
    pub(super) fn new(rail: &Rail, params: &Params, role: Role) -> Result<Self, LoadError> {
        let device = rail.device.clone();
        let refuse = |reason: String| LoadError::Other(format!("{device} port {}: {reason}", rail.port));
        if let Memory::Gpu(_) = params.memory {
            return Err(refuse("TCP moves host memory alone; leave --memory out on this end".to_owned()));
        }
        let (gid_index, gid) = gid_of(rail, params);
        let own = ip_of(rail, gid).map_err(refuse)?;
        let own = scoped(own, rail.netdev.as_deref());
        let places = Places::new(params);
        let needs_data = (role == Role::Target) == (params.op == LoadOp::Read);
        let memory = if needs_data { filled(places.bytes()).map_err(refuse)? } else { Vec::new() };
        let listener = match role {
            Role::Reader => None,
            Role::Target => Some(listen(own).map_err(|cause| {
                refuse(format!("cannot listen at {}: {cause}{}", own.ip(), hint(&cause)))
            })?),
        };
        let port = match &listener {
            Some(listener) => listener.local_addr().map_err(|cause| refuse(cause.to_string()))?.port(),
            None => 0,
        };
        let endpoint = Endpoint {
            device: device.clone(),
            port: rail.port,
            link_layer: rail.link_layer.unwrap_or(LinkLayer::Ethernet),
            lid: 0,
            gid,
            gid_index,
            gid_type: rail.gids.iter().find(|entry| entry.index == gid_index).and_then(|entry| entry.kind),
            path_mtu: params.path_mtu.or(rail.path_mtu).unwrap_or(1024),
            qps: (0..params.qps).map(|qpn| QpAddress { qpn, psn: 0 }).collect(),
            max_initiator_depth: params.depth,
            max_responder_depth: params.depth,
            buffer: (role == Role::Target).then(|| RemoteBuffer {
                address: 0,
                rkey: 0,
                bytes: places.bytes(),
            }),
            tcp: Some(TcpEnd { address: own.ip(), port, token: RandomState::new().build_hasher().finish() }),
            memory: Memory::Host,
            registered: None,
        };
        Ok(Self { endpoint, device, params: params.clone(), own, listener, memory })
    }

    /// Makes or takes a connection for each queue pair.
    pub(super) fn connect(self, peer: &Endpoint) -> Result<Traffic, LoadError> {
        let other = LoadError::Other;
        let ends = format!("{} and the peer's {}", self.device, peer.device);
        let Some(theirs) = peer.tcp else {
            return Err(other(format!("{ends}: the peer's railscope does not speak --transport tcp")));
        };
        let places = Places::new(&self.params);
        let lanes = u32::try_from(self.endpoint.qps.len()).unwrap_or(u32::MAX);
        if let (Some(listener), Some(ours)) = (self.listener, self.endpoint.tcp) {
            let streams = accepted(&listener, theirs.address, ours.token, lanes).map_err(|cause| {
                other(format!("{ends}: waiting for {} at {}: {cause}", theirs.address, self.own.ip()))
            })?;
            return Ok(Traffic::Target(Answering::new(streams, self.params.op, places, self.memory)));
        }
        if peer.buffer.map_or(0, |buffer| buffer.bytes) < places.bytes() {
            return Err(other(format!("{ends}: the peer offers less memory than this load goes over")));
        }
        let to = scoped_as(theirs.address, theirs.port, self.own);
        let connected = |lane| {
            connection(self.own, to, theirs.token, lane).map_err(|cause| {
                other(format!("{ends}: TCP from {} to {to}: {cause}{}", self.own.ip(), hint(&cause)))
            })
        };
        let streams = (0..lanes).map(connected).collect::<Result<Vec<_>, _>>()?;
        Ok(Traffic::Reader(TcpTransport::new(self.device, &self.params, places, streams, self.memory)))
    }
}

/// The GID agreed on with the peer.
fn gid_of(rail: &Rail, params: &Params) -> (u32, Ipv6Addr) {
    let index = params.gid_index.or(rail.gid.as_ref().map(|choice| choice.index)).unwrap_or(0);
    let entry = rail.gids.iter().find(|entry| entry.index == index);
    (index, entry.map_or(Ipv6Addr::UNSPECIFIED, |entry| entry.address))
}

/// The rail's IP address: that of its GID, and on InfiniBand, whose GIDs are none, that of its netdev.
fn ip_of(rail: &Rail, gid: Ipv6Addr) -> Result<IpAddr, String> {
    if rail.link_layer != Some(LinkLayer::InfiniBand) {
        if gid.is_unspecified() {
            return Err("no usable GID, so no IP address for TCP; give its netdev one".to_owned());
        }
        return Ok(gid.to_ipv4_mapped().map_or(IpAddr::V6(gid), IpAddr::V4));
    }
    let netdev = rail.netdev.as_deref();
    let on_it = addresses().into_iter().filter(|address| Some(address.netdev.as_str()) == netdev);
    on_it.map(|address| address.ip).min_by_key(IpAddr::is_ipv6).ok_or_else(|| match netdev {
        Some(netdev) => {
            format!("{netdev} has no IP address, which --transport tcp needs; give it one (IPoIB)")
        }
        None => "it has no netdev, so no IP address for --transport tcp; load ib_ipoib".to_owned(),
    })
}

/// With the netdev's index where the address means nothing without (RFC 4007).
fn scoped(ip: IpAddr, netdev: Option<&str>) -> SocketAddr {
    match ip {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => {
            let index = netdev
                .and_then(|netdev| std::fs::read_to_string(format!("/sys/class/net/{netdev}/ifindex")).ok())
                .and_then(|index| index.trim().parse().ok());
            SocketAddr::V6(SocketAddrV6::new(ip, 0, 0, index.unwrap_or(0)))
        }
        ip => SocketAddr::new(ip, 0),
    }
}

/// The peer's address as seen from `own`.
fn scoped_as(ip: IpAddr, port: u16, own: SocketAddr) -> SocketAddr {
    match (ip, own) {
        (IpAddr::V6(ip), SocketAddr::V6(own)) if ip.is_unicast_link_local() => {
            SocketAddr::V6(SocketAddrV6::new(ip, port, 0, own.scope_id()))
        }
        (ip, _) => SocketAddr::new(ip, port),
    }
}

fn listen(own: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(own)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrNotAvailable => ": this host does not have that address; is its netdev up?",
        io::ErrorKind::ConnectionRefused | io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            ": does a firewall let TCP through between these rails?"
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            ": there is no route from this rail to that one"
        }
        _ => "",
    }
}

/// A connection from one address to the other that the peer's worker will know.
fn connection(from: SocketAddr, to: SocketAddr, token: u64, lane: u32) -> io::Result<TcpStream> {
    let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // it bounds connect as well (socket(7), SO_SNDTIMEO)
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    bind(&socket, &from)?;
    match connect(&socket, &to) {
        Err(rustix::io::Errno::INPROGRESS) => Err(io::Error::from(io::ErrorKind::TimedOut)),
        connected => connected.map_err(io::Error::from),
    }?;
    let mut stream = TcpStream::from(socket);
    let mut hello = [0; HELLO_BYTES];
    hello[..8].copy_from_slice(&MAGIC);
    hello[8..16].copy_from_slice(&token.to_le_bytes());
    hello[16..].copy_from_slice(&lane.to_le_bytes());
    stream.write_all(&hello)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// A connection for each of `lanes`, from `peer` and with the token; others are closed.
fn accepted(listener: &TcpListener, peer: IpAddr, token: u64, lanes: u32) -> io::Result<Vec<TcpStream>> {
    let until = Instant::now() + PATIENCE;
    let mut lane_streams: Vec<Option<TcpStream>> = (0..lanes).map(|_| None).collect();
    while lane_streams.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((stream, from)) if from.ip() == peer => {
                if let Some((lane, stream)) = greeted(stream, token)
                    && let Some(place @ None) =
                        usize::try_from(lane).ok().and_then(|lane| lane_streams.get_mut(lane))
                {
                    *place = Some(stream);
                }
            }
            // somebody else's, or gone again
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(NAP),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
        if Instant::now() > until {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "its connections did not come within {} s; does a firewall let TCP through?",
                    PATIENCE.as_secs()
                ),
            ));
        }
    }
    Ok(lane_streams.into_iter().flatten().collect())
}

/// The queue pair that a new connection is for; `None` when it does not know the token.
fn greeted(mut stream: TcpStream, token: u64) -> Option<(u32, TcpStream)> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(HELLO_PATIENCE)).ok()?;
    let mut hello = [0; HELLO_BYTES];
    stream.read_exact(&mut hello).ok()?;
    let [magic, shown, lane] = [&hello[..8], &hello[8..16], &hello[16..]];
    if magic != MAGIC || shown != token.to_le_bytes() {
        return None;
    }
    stream.set_nodelay(true).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some((u32::from_le_bytes(lane.try_into().ok()?), stream))
}

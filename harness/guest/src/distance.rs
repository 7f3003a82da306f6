//! A network with distance: packets of the size that cables carry, each on its way for a while, between two programs on one
//! loopback device. The delay is that of the kernel's network emulator, asked for over netlink.
//!
//! Layouts and numbers are those of the kernel's headers `linux/netlink.h`, `linux/rtnetlink.h` and `linux/pkt_sched.h`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// How long a packet is on its way, in either direction: half of the round trip.
const ONE_WAY: Duration = Duration::from_millis(10);
/// The largest packet, as on Ethernet. With loopback's own 64 KiB whole answers would fit into one.
const LARGEST_PACKET: libc::c_int = 1500;
/// Packets on their way at once; more are lost. Far more than the socket buffers of this machine hold.
const PACKETS: u32 = 100_000;

/// `lo` is the first device of every network namespace.
const LOOPBACK: i32 = 1;
const RTM_NEWQDISC: u16 = 36;
const TC_H_ROOT: u32 = u32::MAX;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_NETEM_LATENCY64: u16 = 10;
const NLMSG_ERROR: u16 = 2;

/// Loads the emulator's module and sets the distance.
pub fn set_up(module: &str) -> io::Result<()> {
    let named = |what: &str, e: io::Error| io::Error::new(e.kind(), format!("cannot {what}: {e}"));
    load(module).map_err(|e| named("load the network emulator", e))?;
    limit_packets().map_err(|e| named("set the largest packet of lo", e))?;
    ask(&delay_request()).map_err(|e| named("delay the packets of lo", e))
}

fn load(module: &str) -> io::Result<()> {
    let file = File::open(module)?;
    // SAFETY: an open file and an empty C string.
    check(unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) })
}

fn limit_packets() -> io::Result<()> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    // SAFETY: `ifreq` is plain data; the kernel reads its name and number.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
        request.ifr_ifru.ifru_mtu = LARGEST_PACKET;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFMTU, &request).into())
    }
}

/// `RTM_NEWQDISC` for loopback's root: kind `netem`, options `tc_netem_qopt` with a limit alone, the delay in nanoseconds.
fn delay_request() -> Vec<u8> {
    let mut options = Vec::new();
    for field in [0, PACKETS, 0, 0, 0, 0] {
        options.extend(u32::to_ne_bytes(field));
    }
    attribute(&mut options, TCA_NETEM_LATENCY64, &(ONE_WAY.as_nanos() as i64).to_ne_bytes());

    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
    let mut message = Vec::new();
    message.extend(0_u32.to_ne_bytes()); // the length, known at the end
    message.extend(RTM_NEWQDISC.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // sequence and sender
    message.extend([0; 4]); // tcmsg: family and padding
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes()); // a handle of the kernel's choice
    message.extend(TC_H_ROOT.to_ne_bytes());
    message.extend([0; 4]);
    attribute(&mut message, TCA_KIND, b"netem\0");
    attribute(&mut message, TCA_OPTIONS, &options);
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

/// Length, kind and contents, padded to four bytes.
fn attribute(message: &mut Vec<u8>, kind: u16, contents: &[u8]) {
    message.extend((contents.len() as u16 + 4).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(contents);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// Sends one request to the kernel; its answer is a header and an error number, 0 for done.
fn ask(request: &[u8]) -> io::Result<()> {
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)?;
    let mut answer = [0; 256];
    // SAFETY: both calls stay within the buffers whose lengths they are given.
    let size = unsafe {
        check(libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) as i64)?;
        libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
    };
    check(size as i64)?;
    if size < 20 || answer[4..6] != NLMSG_ERROR.to_ne_bytes() {
        return Err(io::Error::other("the kernel's answer is no acknowledgement"));
    }
    match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

fn socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved; the descriptor is new and nobody else's.
    unsafe {
        let descriptor = libc::socket(family, kind, protocol);
        check(descriptor.into())?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

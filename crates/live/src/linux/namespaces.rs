//! Two network namespaces without names, a TUN device in each, and a check that packets come through.
//!
//! Nothing of this outlives the processes that hold it: the namespaces have no names, and a TUN device
//! goes with its descriptor. Root needs no user namespace; everybody else gets one in which they are
//! who they were, with capabilities over these two networks only.

use super::obstacle::{Obstacle, UNPRIVILEGED};
use super::{kernel, netlink};
use airpath_core::packet::Dir;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Addresses of the server's and of the UE's end.
pub const SERVER: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 77, 0, 1), ula(1));
pub const UE: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 77, 0, 2), ula(2));

/// An address of the unique local prefix fd61:6972:7061::/64, RFC 4193.
const fn ula(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd61, 0x6972, 0x7061, 0, 0, 0, 0, host)
}

/// The interface's name in both namespaces.
pub const INTERFACE: &str = "airpath0";
const MTU: u16 = 1500;
/// A full ring drops silently: it takes more than the kernel sends between two wake-ups of the driver.
const RING_PACKETS: u32 = 5000;

/// What both namespaces are set to before their device is made.
const SYSCTLS: &[(&str, &str)] = &[
    // No connection starts from what an earlier one learned.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // Addresses are usable at once, and no packets but the user's cross the link.
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
];

/// One end of the link.
pub struct End {
    pub namespace: File,
    /// The device through which its packets come and go.
    pub device: SyncDevice,
    /// What the kernel knows of the namespace's sockets and counters.
    pub kernel: kernel::Namespace,
}

/// Both ends, by the direction in which they send.
pub struct Link {
    pub ends: [End; 2],
    pub user_namespace: bool,
}

/// What may be set at both ends.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub sysctls: &'a BTreeMap<String, String>,
    pub congestion_control: Option<&'a str>,
    /// Of the programs, if it is not this process's.
    pub group: Option<u32>,
}

/// Makes both ends. Each step that was taken is noted in `log` with what was found.
pub fn create(settings: Settings<'_>, log: &mut Vec<(&'static str, String)>) -> Result<Link, Obstacle> {
    check_tun_device()?;
    log.push(("TUN device", "/dev/net/tun".into()));
    let user_namespace = enter_first_network()?;
    log.push((
        "namespaces",
        if user_namespace { "a user namespace of our own".into() } else { "as root".to_owned() },
    ));
    let server = create_end(SERVER, UE, settings)?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(no_network)?;
    let ue = create_end(UE, SERVER, settings)?;
    log.push(("TUN in a namespace", format!("{INTERFACE} with {} and {}", SERVER.0, UE.0)));
    let link = Link { ends: [server.0, ue.0], user_namespace };
    for (dir, socket) in [(Dir::Downlink, &server.1), (Dir::Uplink, &ue.1)] {
        check_link(&link.ends[dir.index()].device, socket, dir)?;
    }
    log.push(("link", "packets come through from both sides".into()));
    Ok(link)
}

fn check_tun_device() -> Result<(), Obstacle> {
    let hint = match fs::metadata("/dev/net/tun") {
        Err(_) => "load the kernel's module (modprobe tun); in a container: --device /dev/net/tun",
        Ok(_) => {
            "allow everybody to use it (chmod 0666 /dev/net/tun): it gives no power outside of namespaces"
        }
    };
    let opened = File::options().read(true).write(true).open("/dev/net/tun");
    opened.map(drop).map_err(|error| Obstacle::new("TUN device", format!("/dev/net/tun: {error}"), hint))
}

/// Enters a new network namespace, in a user namespace if that is what it takes; says whether it was.
fn enter_first_network() -> Result<bool, Obstacle> {
    if nix::unistd::geteuid().is_root() && unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(false);
    }
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let refused = |what: &str, error| Obstacle::refused("user namespace", what, error, UNPRIVILEGED);
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| refused("cannot be made", error.into()))?;
    map_ids(uid, gid).map_err(|error| refused("made, but without power", error))?;
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| refused("made, but without power over networks", error.into()))?;
    Ok(true)
}

/// In the user namespace everybody is who they were.
fn map_ids(uid: Uid, gid: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

fn no_network(error: nix::Error) -> Obstacle {
    Obstacle::refused("network namespace", "cannot be made", error.into(), UNPRIVILEGED)
}

/// Sets the present network namespace up as an end with address `mine`. Also returns a socket that sends
/// to the other end.
fn create_end(
    mine: (Ipv4Addr, Ipv6Addr),
    other: (Ipv4Addr, Ipv6Addr),
    Settings { sysctls, congestion_control, group }: Settings<'_>,
) -> Result<(End, UdpSocket), Obstacle> {
    let failed =
        |what: &'static str| move |error| Obstacle::refused("TUN in a namespace", what, error, UNPRIVILEGED);
    for (name, value) in SYSCTLS {
        // Kernels without IPv6 lack some of these.
        let _ = set_sysctl(name, value);
    }
    // ping works without raw sockets.
    let gid = group.unwrap_or_else(|| nix::unistd::getegid().as_raw());
    let _ = set_sysctl("net.ipv4.ping_group_range", &format!("{gid} {gid}"));
    for (name, value) in sysctls {
        set_sysctl(name, value).map_err(|error| {
            let hint =
                "name a net.* parameter that each network namespace has of its own, and a value it takes";
            Obstacle::new("sysctl", format!("{name} = {value}: {error}"), hint)
        })?;
    }
    netlink::bring_up("lo").map_err(failed("the loopback interface cannot be brought up"))?;
    let build = |offloads| {
        let builder = DeviceBuilder::new().name(INTERFACE).mtu(MTU).ipv4(mine.0, 24, None);
        let builder = builder.with(|options| _ = options.offload(offloads));
        if has_ipv6() { builder.ipv6(mine.1, 64) } else { builder }.build_sync()
    };
    // A kernel that does not know them hands over each packet by itself.
    let device = build(true).or_else(|_| build(false)).map_err(failed("a device cannot be made"))?;
    netlink::set_queue_length(INTERFACE, RING_PACKETS).map_err(failed("its queue cannot be set"))?;
    if let Some(name) = congestion_control {
        set_congestion_control(other, name).map_err(|error| {
            let what =
                format!("the kernel has no '{name}' for TCP ({error}); it has {}", congestion_controls());
            Obstacle::new("--cc", what, "choose one of these, or load the kernel's module of that name")
        })?;
    }
    device.set_nonblocking(true).map_err(failed("the device cannot be used without waiting"))?;
    let namespace = File::open("/proc/thread-self/ns/net").map_err(failed("/proc is not there"))?;
    let kernel = kernel::Namespace::open(INTERFACE).map_err(failed("the kernel tells nothing of sockets"))?;
    let socket = UdpSocket::bind((mine.0, 0)).and_then(|socket| {
        socket.connect((other.0, DISCARD_PORT))?;
        Ok(socket)
    });
    let socket = socket.map_err(failed("the address cannot be used"))?;
    Ok((End { namespace, device, kernel }, socket))
}

/// Has connections to the end with these addresses use this congestion control.
pub fn set_congestion_control(other: (Ipv4Addr, Ipv6Addr), name: &str) -> io::Result<()> {
    netlink::set_congestion_control(INTERFACE, other.0.into(), name)?;
    if has_ipv6() { netlink::set_congestion_control(INTERFACE, other.1.into(), name) } else { Ok(()) }
}

/// What the kernel has loaded, with spaces between.
pub fn congestion_controls() -> String {
    sysctl("net.ipv4.tcp_available_congestion_control")
}

/// The value of a parameter of the present namespace; empty if there is none.
pub fn sysctl(name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).unwrap_or_default();
    text.trim().to_owned()
}

/// RFC 863.
pub const DISCARD_PORT: u16 = 9;

fn has_ipv6() -> bool {
    fs::metadata("/proc/sys/net/ipv6").is_ok()
}

fn set_sysctl(name: &str, value: &str) -> io::Result<()> {
    if !name.starts_with("net.") || name.contains("..") || name.contains('/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a parameter of a network"));
    }
    fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value)
}

/// Sends a packet from the namespace and sees it come out of the device. It goes no further.
fn check_link(device: &SyncDevice, socket: &UdpSocket, dir: Dir) -> Result<(), Obstacle> {
    let failed = |what: String| {
        Obstacle::new(
            "link",
            format!("{} of the {} end", what, if dir == Dir::Downlink { "server's" } else { "UE's" }),
            "see 'airpath doctor'; a firewall that acts in new namespaces would do this",
        )
    };
    socket.send(b"airpath").map_err(|error| failed(format!("nothing can be sent ({error}) out")))?;
    let mut bytes = [0; 2048];
    for _ in 0..100 {
        match device.recv(&mut bytes) {
            Ok(length) if bytes[..length].ends_with(b"airpath") => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(10))
            }
            Err(error) => return Err(failed(format!("the device cannot be read ({error}), that"))),
        }
    }
    Err(failed("no packet came out of the device".into()))
}

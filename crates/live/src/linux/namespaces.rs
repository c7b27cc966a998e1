//! Two network namespaces without names, TUN devices in them, and a check that packets come through.
//!
//! The server has one device, and the UE has one for each of its interfaces. Interface `n` has the addresses
//! 10.77.n.2 and fd61:6972:7061:n::2, and reaches the server at 10.77.n.1 and fd61:6972:7061:n::1.
//!
//! Nothing of this outlives the processes that hold it: the namespaces have no names, and a TUN device is removed
//! with its descriptor. Root needs no user namespace; other users get one with their own IDs and with capabilities
//! over these two networks only.

use super::obstacle::{Obstacle, UNPRIVILEGED};
use super::{kernel, netlink};
use airpath_core::packet::Dir;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;
use tun_rs::{DeviceBuilder, SyncDevice};

/// An IPv4 and an IPv6 address.
pub type Addresses = (Ipv4Addr, Ipv6Addr);

/// Addresses of an end by interface index.
pub type OfInterface = fn(u8) -> Addresses;

/// Interfaces of a UE that a link has at most.
pub const MOST_INTERFACES: u8 = 8;

/// Addresses of the server towards an interface, from a unique local prefix of RFC 4193.
pub const fn server(interface: u8) -> Addresses {
    addresses(interface, 1)
}

/// Addresses of an interface of the UE.
pub const fn ue(interface: u8) -> Addresses {
    addresses(interface, 2)
}

const fn addresses(interface: u8, host: u8) -> Addresses {
    let v6 = Ipv6Addr::new(0xfd61, 0x6972, 0x7061, interface as u16, 0, 0, 0, host as u16);
    (Ipv4Addr::new(10, 77, interface, host), v6)
}

/// The interface over which a packet of the server goes, by its destination; the first one if that is none of the UE's.
pub fn interface_of(packet: &[u8]) -> u16 {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 && packet[16..18] == [10, 77] => packet[18].into(),
        Some(6) if packet.len() >= 40 && packet[24..30] == [0xfd, 0x61, 0x69, 0x72, 0x70, 0x61] => {
            u16::from_be_bytes([packet[30], packet[31]])
        }
        _ => 0,
    }
}

/// Name of the device of an interface; the server's device has the name of the first.
pub fn device_name(interface: u8) -> String {
    format!("airpath{interface}")
}

const MTU: u16 = 1500;
/// A full ring drops silently: it takes more than the kernel sends between two wake-ups of the driver.
const RING_PACKETS: u32 = 5000;

/// Kernel parameters set in both namespaces before their device is created.
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
    /// The devices through which its packets come and go.
    pub devices: Vec<SyncDevice>,
    /// The namespace's sockets and counters.
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
    /// Group of the programs, if it differs from this process's.
    pub group: Option<u32>,
    /// Number of interfaces of the UE, at most [`MOST_INTERFACES`].
    pub interfaces: u8,
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
    let server = create_end(Dir::Downlink, settings)?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(no_network)?;
    let ue = create_end(Dir::Uplink, settings)?;
    log.push((
        "TUN in a namespace",
        format!("{} with {} and {}", device_name(0), self::server(0).0, self::ue(0).0),
    ));
    let link = Link { ends: [server.0, ue.0], user_namespace };
    for (dir, sockets) in [(Dir::Downlink, &server.1), (Dir::Uplink, &ue.1)] {
        let devices = &link.ends[dir.index()].devices;
        for (interface, socket) in sockets.iter().enumerate() {
            // The server has one device for all.
            check_link(devices.get(interface).unwrap_or(&devices[0]), socket, dir)?;
        }
    }
    log.push(("link", "packets come through from both sides".into()));
    Ok(link)
}

/// The namespace of a process (a number), of a name as of `ip netns`, or of a path; and a server's end without a device.
/// `option` is what an error names.
pub fn attach(option: &str, target: &str) -> Result<Link, Obstacle> {
    let path = match target {
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("/proc/{number}/ns/net"),
        name if !name.contains('/') => format!("/run/netns/{name}"),
        path => path.to_owned(),
    };
    let failed = |what: &'static str| {
        move |error: io::Error| {
            let hint =
                "run it as root, and name a process by its number, or a namespace as 'ip netns' lists them";
            Obstacle::refused(option, what, error, hint)
        }
    };
    let theirs = File::open(&path).map_err(|error| {
        let hint =
            "run it as root, and name a process by its number, or a namespace as 'ip netns' lists them";
        Obstacle::new(option, format!("{path}: {error}"), hint)
    })?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| failed("no namespace can be made")(error.into()))?;
    netlink::bring_up("lo").map_err(failed("the loopback interface cannot be brought up"))?;
    let mine = open_end(option)?;
    setns(&theirs, CloneFlags::CLONE_NEWNET).map_err(|error| failed("it cannot be entered")(error.into()))?;
    Ok(Link { ends: [mine, open_end(option)?], user_namespace: false })
}

/// The current namespace as an end without devices of the link.
fn open_end(option: &str) -> Result<End, Obstacle> {
    let failed =
        |error| Obstacle::refused(option, "the kernel tells nothing of sockets", error, UNPRIVILEGED);
    let namespace = File::open("/proc/thread-self/ns/net").map_err(failed)?;
    let kernel = kernel::Namespace::open(&[] as &[&str]).map_err(failed)?;
    Ok(End { namespace, devices: Vec::new(), kernel })
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

/// Maps the user's IDs to themselves in the user namespace.
fn map_ids(uid: Uid, gid: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

fn no_network(error: nix::Error) -> Obstacle {
    Obstacle::refused("network namespace", "cannot be made", error.into(), UNPRIVILEGED)
}

/// Sets the present network namespace up as the end that sends in direction `dir`. Also returns a socket for each
/// interface that sends to the other end.
fn create_end(
    dir: Dir,
    Settings { sysctls, congestion_control, group, interfaces }: Settings<'_>,
) -> Result<(End, Vec<UdpSocket>), Obstacle> {
    let numbers = 0..interfaces;
    let (mine, other): (OfInterface, OfInterface) = match dir {
        Dir::Downlink => (server, ue),
        Dir::Uplink => (ue, server),
    };
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
    let mut names: Vec<String> = Vec::new();
    let mut devices = Vec::new();
    for number in numbers.clone() {
        if dir == Dir::Downlink && number > 0 {
            add_addresses(&names[0], mine(number)).map_err(failed("an address cannot be added"))?;
            continue;
        }
        let name = device_name(number);
        // A kernel that does not know offloads hands over each packet by itself.
        let device = build_device(&name, mine(number), true)
            .or_else(|_| build_device(&name, mine(number), false))
            .map_err(failed("a device cannot be made"))?;
        netlink::set_queue_length(&name, RING_PACKETS).map_err(failed("its queue cannot be set"))?;
        device.set_nonblocking(true).map_err(failed("the device cannot be used without waiting"))?;
        if interfaces > 1 && dir == Dir::Uplink {
            // A kernel without rules routes by destination only.
            let _ = route_by_source(&name, mine(number), number);
        }
        names.push(name);
        devices.push(device);
    }
    if let Some(name) = congestion_control {
        for number in numbers.clone() {
            let device = names.get(usize::from(number)).unwrap_or(&names[0]);
            set_congestion_control(device, other(number), name).map_err(|error| {
                let what =
                    format!("the kernel has no '{name}' for TCP ({error}); it has {}", congestion_controls());
                Obstacle::new("--cc", what, "choose one of these, or load the kernel's module of that name")
            })?;
        }
    }
    let namespace = File::open("/proc/thread-self/ns/net").map_err(failed("/proc is not there"))?;
    let kernel = kernel::Namespace::open(&names).map_err(failed("the kernel tells nothing of sockets"))?;
    let sockets = numbers.map(|number| {
        let socket = UdpSocket::bind((mine(number).0, 0))?;
        socket.connect((other(number).0, DISCARD_PORT))?;
        Ok(socket)
    });
    let sockets = sockets.collect::<io::Result<_>>().map_err(failed("the address cannot be used"))?;
    Ok((End { namespace, devices, kernel }, sockets))
}

fn build_device(name: &str, (v4, v6): Addresses, offloads: bool) -> io::Result<SyncDevice> {
    let builder = DeviceBuilder::new().name(name).mtu(MTU).ipv4(v4, 24, None);
    let builder = builder.with(|options| _ = options.offload(offloads));
    if has_ipv6() { builder.ipv6(v6, 64) } else { builder }.build_sync()
}

/// Table of an interface's own routes: its number from here on.
const FIRST_TABLE: u8 = 100;

/// Sends what an interface's addresses send over its device: a further subflow of Multipath TCP goes to the address of the
/// first one.
fn route_by_source(device: &str, (v4, v6): Addresses, number: u8) -> io::Result<()> {
    netlink::route_by_source(device, v4.into(), FIRST_TABLE + number)?;
    if has_ipv6() { netlink::route_by_source(device, v6.into(), FIRST_TABLE + number) } else { Ok(()) }
}

fn add_addresses(device: &str, (v4, v6): Addresses) -> io::Result<()> {
    netlink::add_address(device, v4.into(), 24)?;
    if has_ipv6() { netlink::add_address(device, v6.into(), 64) } else { Ok(()) }
}

/// Has connections over a device to the end with these addresses use this congestion control.
pub fn set_congestion_control(device: &str, other: Addresses, name: &str) -> io::Result<()> {
    netlink::set_congestion_control(device, other.0.into(), name)?;
    if has_ipv6() { netlink::set_congestion_control(device, other.1.into(), name) } else { Ok(()) }
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

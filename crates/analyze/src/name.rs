//! The host that a client requests: the server name in a ClientHello of TLS (RFC 8446 (4.1.2), RFC 6066 (3)), or the
//! field `Host` of a request in HTTP/1.1 (RFC 9112 (3.2)).
//!
//! Only the captured part of one segment is read: a name in a later segment of the same message is not found.

/// Names of hosts are no longer (RFC 1035 (2.3.4)).
const LONGEST: usize = 255;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// RFC 9110 (9.3), RFC 5789.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The name in the first payload of a client; whatever it holds, without control characters.
pub fn asked_for(payload: &[u8]) -> Option<String> {
    let name = server_name(payload).or_else(|| host(payload))?;
    let text = String::from_utf8_lossy(&name[..name.len().min(LONGEST)]);
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Takes octets from the front.
fn take<'a>(rest: &mut &'a [u8], octets: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(octets)?;
    *rest = behind;
    Some(taken)
}

fn u8_of(rest: &mut &[u8]) -> Option<usize> {
    take(rest, 1).map(|octets| usize::from(octets[0]))
}

fn u16_of(rest: &mut &[u8]) -> Option<usize> {
    take(rest, 2).map(|octets| usize::from(u16::from_be_bytes([octets[0], octets[1]])))
}

fn server_name(payload: &[u8]) -> Option<&[u8]> {
    let mut rest = payload;
    let &[HANDSHAKE, 3, _, _, _, CLIENT_HELLO, ..] = take(&mut rest, 9)? else { return None };
    // Version and random number, session, cipher suites, compression.
    take(&mut rest, 34)?;
    let session = u8_of(&mut rest)?;
    take(&mut rest, session)?;
    let suites = u16_of(&mut rest)?;
    take(&mut rest, suites)?;
    let compressions = u8_of(&mut rest)?;
    take(&mut rest, compressions)?;
    u16_of(&mut rest)?;
    loop {
        let kind = u16_of(&mut rest)?;
        let len = u16_of(&mut rest)?;
        let mut extension = take(&mut rest, len)?;
        if kind == usize::from(SERVER_NAME) {
            u16_of(&mut extension)?;
            let kind_of_name = u8_of(&mut extension)?;
            let len_of_name = u16_of(&mut extension)?;
            return take(&mut extension, len_of_name).filter(|_| kind_of_name == usize::from(HOST_NAME));
        }
    }
}

fn host(payload: &[u8]) -> Option<&[u8]> {
    let is_request = METHODS
        .iter()
        .any(|method| payload.strip_prefix(method.as_bytes()).is_some_and(|rest| rest.starts_with(b" ")));
    // A line that was not captured to its end is none.
    let mut lines = payload.split_inclusive(|&octet| octet == b'\n').filter(|line| line.ends_with(b"\n"));
    let is_host = |line: &&[u8]| line.len() > 5 && line[..5].eq_ignore_ascii_case(b"host:");
    lines.find(is_host).filter(|_| is_request).map(|line| &line[5..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ClientHello with these extensions: kind and content.
    fn hello(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([2, 9, 9]);
        body.extend([0, 4, 0x13, 1, 0x13, 2]);
        body.extend([1, 0]);
        let mut all = Vec::new();
        for (kind, content) in extensions {
            all.extend(kind.to_be_bytes());
            all.extend((content.len() as u16).to_be_bytes());
            all.extend(content);
        }
        body.extend((all.len() as u16).to_be_bytes());
        body.extend(all);
        let mut record = vec![HANDSHAKE, 3, 1];
        record.extend((body.len() as u16 + 4).to_be_bytes());
        record.extend([CLIENT_HELLO, 0]);
        record.extend((body.len() as u16).to_be_bytes());
        record.extend(body);
        record
    }

    fn name(text: &str) -> (u16, Vec<u8>) {
        let len = text.len() as u16;
        let mut content = (len + 3).to_be_bytes().to_vec();
        content.push(HOST_NAME);
        content.extend(len.to_be_bytes());
        content.extend(text.as_bytes());
        (SERVER_NAME, content)
    }

    #[test]
    fn the_server_name_of_tls_is_found_in_any_place() {
        let found = |extensions: &[_]| asked_for(&hello(extensions));
        let other = || (43, vec![2, 3, 4]);
        assert_eq!(found(&[name("example.org")]).as_deref(), Some("example.org"));
        assert_eq!(found(&[other(), name("example.org"), other()]).as_deref(), Some("example.org"));
        assert_eq!(found(&[other()]), None);
        assert_eq!(found(&[name("<b>\u{1b}[1m\n")]).as_deref(), Some("<b>[1m"));
        let whole = hello(&[other(), name("example.org")]);
        for len in 0..whole.len() {
            assert_eq!(asked_for(&whole[..len]), None, "{len}");
        }
    }

    #[test]
    fn the_host_of_a_request_is_found() {
        let request = b"GET / HTTP/1.1\r\nUser-Agent: x\r\nhOsT:  example.org \r\n\r\n";
        assert_eq!(asked_for(request).as_deref(), Some("example.org"));
        assert_eq!(asked_for(&request[..40]), None);
        assert_eq!(asked_for(b"HTTP/1.1 200 OK\r\nHost: example.org\r\n\r\n"), None);
        assert_eq!(asked_for(&[]), None);
    }
}

//! How tables of one component merge: overrides, profiles, inheritance.

use airpath_core::queue;
use airpath_core::scenario::Scenario;
use airpath_core::tcp::cc;
use toml::{Table, Value};

fn try_parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let mut read = |path: &str| match path {
        "new.trace" => Ok("5\n".to_owned()),
        _ => Err("is not there".to_owned()),
    };
    Scenario::parse_with(text, &overrides, &mut read).map_err(|error| error.to_string())
}

/// What a resolved scenario has at a path of keys; the whole if it is refused.
fn at(text: &str, overrides: &[(&str, &str)], path: &str) -> String {
    let scenario = match try_parse(text, overrides) {
        Ok(scenario) => scenario,
        Err(error) => return error,
    };
    let resolved: Table = scenario.to_toml().unwrap().parse().unwrap();
    let down = |here: Value, key: &str| match key.parse::<usize>() {
        Ok(index) => here.get(index).cloned(),
        Err(_) => here.get(key).cloned(),
    };
    let found = path.split('.').try_fold(Value::Table(resolved), down);
    found.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

const LINUX: &str = "tcp.profile = \"linux\"\n[[flow]]\n";
const LTE: &str = "
[radio.lte]
ues = 2
downlink.queue.droptail = { packets = 30, in_service = \"excluded\" }
[[flow]]
";

fn cubic(scenario: &Scenario) -> (cc::cubic::HyStart, bool, cc::cubic::Variant) {
    match &scenario.tcp.cc {
        cc::Config::Cubic(cubic) => (cubic.hystart, cubic.fast_convergence, cubic.variant),
        other => panic!("{other:?}"),
    }
}

#[test]
fn naming_the_component_of_a_profile_keeps_its_keys() {
    let linux = (cc::cubic::HyStart::Linux, true, cc::cubic::Variant::Linux);
    for value in ["cubic", "{ cubic = {} }"] {
        assert_eq!(cubic(&try_parse(LINUX, &[("tcp.cc", value)]).unwrap()), linux);
    }
    assert_eq!(cubic(&try_parse(LINUX, &[("tcp.cc.cubic", "{}")]).unwrap()), linux);
    let text = "[tcp]\nprofile = \"linux\"\ncc = \"cubic\"\n[[flow]]\n";
    assert_eq!(cubic(&try_parse(text, &[]).unwrap()), linux);
    for key in ["tcp.cc.cubic.fast_convergence", "flow.tcp.cc.cubic.fast_convergence"] {
        let narrowed = try_parse(LINUX, &[(key, "false")]).unwrap();
        let tcp = narrowed.flow[0].tcp.clone().unwrap_or(narrowed.tcp.clone());
        let narrowed = Scenario { tcp, ..narrowed };
        assert_eq!(cubic(&narrowed), (linux.0, false, linux.2), "{key}");
    }
}

#[test]
fn a_bare_name_within_a_profile_is_that_profiles_form() {
    let reno = |text: &str, overrides: &[(&str, &str)]| at(text, overrides, "tcp.cc.reno.variant");
    let linux_reno = "tcp.profile = \"linux-reno\"\n[[flow]]\n";
    assert_eq!(reno(linux_reno, &[("tcp.cc", "reno")]), "\"linux\"");
    assert_eq!(reno(LINUX, &[("tcp.cc", "reno")]), "\"linux\"");
    assert_eq!(reno("tcp.cc = \"cubic\"\n[[flow]]\n", &[("tcp.cc", "reno")]), "\"rfc5681\"");
    let hystart = at(linux_reno, &[("tcp.cc", "cubic")], "tcp.cc.cubic.hystart");
    assert_eq!(hystart, "\"linux\"");
    // What is written holds against the form.
    assert_eq!(reno(LINUX, &[("tcp.cc.reno", "{ variant = \"rfc5681\" }")]), "\"rfc5681\"");
}

#[test]
fn a_flow_changes_keys_of_the_component_of_all_or_names_another() {
    let text = |own: &str| {
        format!("[tcp]\nprofile = \"linux\"\ncc.cubic.fast_convergence = false\n[[flow]]\ntcp.cc = {own}\n")
    };
    let own = |cc: &str, key: &str| at(&text(cc), &[], &format!("flow.0.tcp.cc.{key}"));
    assert_eq!(own("\"cubic\"", "cubic.fast_convergence"), "false");
    assert_eq!(own("{ cubic.hystart = \"off\" }", "cubic.variant"), "\"linux\"");
    assert_eq!(own("{ cubic.hystart = \"off\" }", "cubic.fast_convergence"), "false");
    assert_eq!(own("\"bbr\"", "cubic"), "-");
    assert!(own("\"bbr\"", "bbr").starts_with('{'));
}

#[test]
fn a_bare_name_keeps_the_limits_that_the_scenario_has() {
    let limit = "radio.lte.downlink.queue.droptail.packets";
    for override_ in [
        ("radio.lte.downlink.queue", "droptail"),
        ("radio.lte.downlink.queue.droptail.bytes", "200 kB"),
        ("radio", "lte"),
        ("radio", "{ lte = { downlink = { delay = \"9 ms\" } } }"),
    ] {
        assert_eq!(at(LTE, &[override_], limit), "30", "{override_:?}");
    }
    let other = [("radio.lte.downlink.queue", "codel"), ("radio.lte.downlink.queue", "droptail")];
    assert_eq!(at(LTE, &other, limit), "-", "another was named in between");
}

#[test]
fn a_key_of_a_component_that_is_not_in_use_is_an_error_that_names_both() {
    let umts = airpath_core::scenario::bundled("umts-384").unwrap();
    for (text, key, value, says) in [
        (
            umts,
            "radio.lte.downlink.queue",
            "codel",
            "radio.lte: radio is dch here, not lte; to replace dch, set radio = \"lte\" as well",
        ),
        (
            "[[flow]]\n",
            "radio.lte.ues",
            "2",
            "radio.lte: radio is dch here, not lte; to replace dch, set radio = \"lte\" as well",
        ),
        (
            LINUX,
            "tcp.cc.reno.variant",
            "linux",
            "tcp.cc.reno: cc is cubic here, not reno; to replace cubic, set tcp.cc = \"reno\" as well",
        ),
        (
            LINUX,
            "flow.tcp.recovery.newreno.variant",
            "linux",
            "flow[0].tcp.recovery.newreno: recovery is rack here, not newreno; to replace rack, set \
             flow[0].tcp.recovery = \"newreno\" as well",
        ),
        (
            LTE,
            "radio.lte.downlink.queue.codel.target",
            "20 ms",
            "radio.lte.downlink.queue.codel: queue is droptail here, not codel; to replace droptail, set \
             radio.lte.downlink.queue = \"codel\" as well",
        ),
        (
            LTE,
            "radio.lte.downlink.rlc.um_lte.t_reordering",
            "20 ms",
            "radio.lte.downlink.rlc.um_lte: rlc is am_lte here, not um_lte; to replace am_lte, set \
             radio.lte.downlink.rlc = \"um_lte\" as well",
        ),
        (
            "[wired]\nrate = \"1 Mbit/s\"\nqueue = \"codel\"\n[[flow]]\n",
            "wired.uplink.queue.droptail.packets",
            "5",
            "wired.uplink.queue.droptail: queue is codel here, not droptail; to replace codel, set \
             wired.uplink.queue = \"droptail\" as well",
        ),
        (
            "[[flow]]\napp.web.objects = 3\n",
            "flow.app.file.size",
            "1 MB",
            "flow[0].app.file: app is web here, not file; to replace web, set flow[0].app = \"file\" as well",
        ),
        (
            "middlebox = [\"snoop\", \"tap\"]\n[[flow]]\n",
            "middlebox[1].split.buffer",
            "1 MB",
            "middlebox[1].split: middlebox is tap here, not split; to replace tap, set middlebox[1] = \"split\" as well",
        ),
        // A name that is none is the better explanation.
        (
            LTE,
            "radio.lte.downlink.queue.droptial.packets",
            "3",
            "radio.lte.downlink.queue.droptial: unknown name; did you mean droptail?",
        ),
        // Capitals, and two letters exchanged, are near.
        (LTE, "tcp.cc", "BBR", "tcp.cc.BBR: unknown name; did you mean bbr?"),
        (LTE, "tpc.cc", "bbr", "tpc: unknown key; did you mean tcp?"),
    ] {
        assert_eq!(try_parse(text, &[(key, value)]).unwrap_err(), says, "{key}");
    }
}

#[test]
fn naming_a_component_alone_replaces_it_and_allows_its_keys() {
    let radio = ("radio", "lte");
    let queue = ("radio.lte.downlink.queue", "codel");
    let target = ("radio.lte.downlink.queue.codel.target", "20 ms");
    // In any order: overrides are one set of changes.
    for overrides in [[radio, queue, target], [target, queue, radio], [target, radio, queue]] {
        assert_eq!(at("[[flow]]\n", &overrides, "radio.lte.downlink.queue.codel.target"), "\"20 ms\"");
    }
    // In one: a table that names it.
    let one = [("radio.lte", "{ downlink = { queue = { codel = { target = \"20 ms\" } } } }")];
    assert_eq!(at("[[flow]]\n", &one, "radio.lte.downlink.queue.codel.target"), "\"20 ms\"");
    // The keys of the default need no name.
    let limit = [("radio.dch.downlink.queue.droptail.packets", "7")];
    assert_eq!(at("[[flow]]\n", &limit, "radio.dch.downlink.queue.droptail.packets"), "7");
}

/// How a component and its keys are replaced in one override.
#[test]
fn the_table_of_a_component_by_its_own_path_is_written_whole() {
    let queue = "radio.lte.downlink.queue";
    let whole = [("radio.lte.downlink.queue.droptail", "{ bytes = \"90 kB\" }")];
    let of = |key: &str| at(LTE, &whole, &format!("{queue}.droptail.{key}"));
    assert_eq!([of("packets"), of("bytes"), of("in_service")], ["-", "\"90 kB\"", "\"counted\""]);
    assert_eq!(at(LTE, &[("radio.lte", "{}")], "radio.lte.ues"), "1");
    // The profile lies below what is written.
    assert_eq!(
        at(LINUX, &[("tcp.cc.cubic", "{ fast_convergence = false }")], "tcp.cc.cubic.variant"),
        "\"linux\""
    );
    let umts = [("radio.lte", "{ downlink.queue = \"codel\" }")];
    assert!(at("[[flow]]\n", &umts, "radio.lte.downlink.queue.codel").starts_with('{'));
}

/// Its keys say all of it, or are refused as incomplete.
#[test]
fn the_keys_of_another_distribution_replace_the_one_in_use() {
    let delay = "radio.variable.downlink.channel.distribution.delay";
    let text = format!("[radio.variable]\n[[flow]]\n[{delay}.exponential]\nmean = \"5 ms\"\n");
    let (mean, sd) = (format!("{delay}.normal.mean"), format!("{delay}.normal.sd"));
    let both = [(mean.as_str(), "80 ms"), (sd.as_str(), "10 ms")];
    assert_eq!(at(&text, &both, &mean), "\"80 ms\"");
    assert_eq!(at(&text, &both, &format!("{delay}.exponential")), "-");
    assert_eq!(at(&text, &both[..1], delay), format!("{sd}: is missing; write it: there is no default"));
}

/// A table that names a file replaces the text that another has; both in one table are refused.
#[test]
fn a_file_and_the_text_that_it_would_give_replace_each_other() {
    let text =
        "[radio.variable]\ndownlink.channel.trace_file = { trace = \"1\\n\", once = true }\n[[flow]]\n";
    let channel = "radio.variable.downlink.channel";
    let named = [(channel, "{ trace_file = { file = \"new.trace\" } }")];
    let of = |name: &str| at(text, &named, &format!("{channel}.trace_file.{name}"));
    assert_eq!((of("once").as_str(), of("trace").trim_matches(['"', '\n', '\\', 'n'])), ("true", "5"));
    let key = format!("{channel}.trace_file.file");
    let both = try_parse(text, &[(&key, "new.trace")]).unwrap_err();
    assert_eq!(both, format!("{channel}.trace_file: has both a file and a trace; keep one of them"));
}

/// Every table of the schema that holds one of several is merged by the rule; only one-key tables that are alternatives
/// to plain words, such as `tie`, cannot differ in their name.
#[test]
fn every_choice_of_the_schema_is_one_for_the_rule() {
    fn names(root: &serde_json::Value, schema: &serde_json::Value) -> usize {
        let schema = match schema["$ref"].as_str() {
            Some(at) => root.pointer(at.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        let alternatives = ["oneOf", "anyOf"].iter().filter_map(|of| schema[*of].as_array()).flatten();
        let tagged = |of: &&serde_json::Value| of["type"] == "object" && of["additionalProperties"] == false;
        let own = alternatives
            .clone()
            .filter(tagged)
            .filter(|of| of["required"].as_array().is_some_and(|r| r.len() == 1));
        own.count()
            + alternatives.filter(|of| of.get("$ref").is_some()).map(|of| names(root, of)).sum::<usize>()
    }
    let root = Scenario::schema();
    let tables = root["$defs"].as_object().unwrap().values().chain([&root]);
    let mut keys = std::collections::BTreeSet::new();
    for table in tables {
        let alternatives = table["oneOf"].as_array().into_iter().flatten().chain([table]);
        for (key, property) in alternatives.filter_map(|one| one["properties"].as_object()).flatten() {
            let item = property.get("items").unwrap_or(property);
            if names(&root, item) > 1 {
                keys.insert(key.as_str());
            }
        }
    }
    let known = [
        "app",
        "cc",
        "channel",
        "controller",
        "delay",
        "fading",
        "interval",
        "middlebox",
        "queue",
        "radio",
        "rate",
        "recovery",
        "rlc",
        "scheduler",
        "size",
        "t_id",
        "t_id_after_drop",
        "undo",
    ];
    assert_eq!(keys.into_iter().collect::<Vec<_>>(), known);
}

#[test]
fn a_buffer_without_a_limit_or_of_few_packets_in_front_of_the_radio_is_remarked_upon() {
    let of = |text: &str, overrides: &[(&str, &str)]| {
        let remarks = try_parse(text, overrides).unwrap().remarks();
        remarks.into_iter().map(|remark| remark.path).collect::<Vec<_>>()
    };
    let unlimited = "[radio.lte]\n[[flow]]\n";
    assert_eq!(of(unlimited, &[]), ["radio.lte.downlink.queue.droptail"]);
    assert_eq!(of(unlimited, &[("flow.direction", "uplink")]), ["radio.lte.uplink.queue.droptail"]);
    assert_eq!(of(LTE, &[("radio.lte.downlink.queue", "droptail")]), [""; 0]);
    assert_eq!(of(unlimited, &[("radio.lte.downlink.queue", "codel")]), [""; 0]);
    assert_eq!(of(unlimited, &[("flow.app", "ping")]), [""; 0]);
    let few = "radio.lte.downlink.queue.droptail";
    for (packets, remarks) in [("1", &[few][..]), ("4", &[few]), ("5", &[]), ("300", &[])] {
        assert_eq!(of(LTE, &[(&format!("{few}.packets"), packets)]), remarks, "{packets}");
    }
    let classes = "[umts]\nqos = [\"streaming\"]\n[radio.dch]\ndownlink.queue.droptail.packets = 9\n\
                   qos.streaming.downlink.queue = \"drophead\"\n[[flow]]\n";
    assert_eq!(of(classes, &[]), ["radio.dch.qos.streaming.downlink.queue.drophead"]);
}

#[test]
fn a_buffer_of_few_packets_is_remarked_upon() {
    let of = |overrides: &[(&str, &str)]| {
        let remarks = try_parse(LTE, overrides).unwrap().remarks();
        remarks.into_iter().map(|remark| remark.to_string()).collect::<Vec<_>>()
    };
    let queue = "radio.lte.downlink.queue";
    let says = "room for 4 packets: ACKs that arrive just when packets leave find room that senders on real hosts seldom \
                find, so goodput may be several times that of real hosts; let the delay vary, or write room for 5 packets or more";
    for (name, key, few, enough) in [
        ("droptail", "packets", "4", "5"),
        ("drophead", "packets", "4", "5"),
        ("codel", "packets", "4", "5"),
        ("red", "bytes", "7499 B", "7500 B"),
        ("dualpi2", "bytes", "7499 B", "7500 B"),
    ] {
        let limited = |limit: &str| of(&[(queue, name), (&format!("{queue}.{name}.{key}"), limit)]);
        assert_eq!(limited(few), [format!("{queue}.{name}: {says}")]);
        assert_eq!(limited(enough), [""; 0], "{name}");
    }
    let wired = ("wired", "{ rate = \"1 Mbit/s\", queue.droptail.packets = 4 }");
    assert_eq!(of(&[wired]), [format!("wired.queue.droptail: {says}")]);
    assert_eq!(of(&[wired, ("flow.app", "cbr")]), [""; 0]);
}

/// A limit below a packet refuses all of them, for ever.
/// TS 38.323 §4.3.1: an SDU has 9000 octets at most.
#[test]
fn a_packet_that_pdcp_does_not_take_is_refused_with_the_key() {
    for radio in ["[radio.nr]", "[radio.dch]\ndownlink.rlc.am_nr = {}\nuplink.rlc.am_nr = {}"] {
        let text = format!("{radio}\n[[flow]]\n");
        let error = |mss: &str| try_parse(&text, &[("tcp.mss", mss)]).err().unwrap_or_default();
        let cell = &radio[1..radio.find(']').unwrap()];
        let says = "PDCP takes packets of 9000 B at most, and a flow sends packets of 9001 B";
        let remedy = "let the flow send smaller packets (tcp.mss)";
        assert_eq!(error("8961 B"), format!("{cell}.downlink.rlc: {says}; {remedy}"));
        assert_eq!(error("8960 B"), "", "{radio}");
    }
}

/// TS 36.323 §4.3.1: an SDU has 8188 octets at most. Without PDCP's header nothing limits it.
#[test]
fn a_packet_that_pdcp_of_lte_does_not_take_is_refused_with_the_key() {
    let remedy = "let the flow send smaller packets (tcp.mss)";
    for mode in ["am", "um"] {
        let error = |keys: &str, mss: &str| {
            let rlc = format!("rlc.{mode}_lte = {{ {keys} }}");
            let text = format!("[radio.lte]\ndownlink.{rlc}\nuplink.{rlc}\n[[flow]]\n");
            try_parse(&text, &[("tcp.mss", mss)]).err().unwrap_or_default()
        };
        let says = "PDCP takes packets of 8188 B at most, and a flow sends packets of 8189 B";
        assert_eq!(error("pdcp_sn_size = 12", "8149 B"), format!("radio.lte.downlink.rlc: {says}; {remedy}"));
        assert_eq!(error("pdcp_sn_size = 12", "8148 B"), "");
        assert_eq!(error("", "8149 B"), "");
    }
    let nr = try_parse(
        "[radio.lte]\ndownlink.rlc.am_nr = {}\nuplink.rlc.am_nr = {}\n[[flow]]\n",
        &[("tcp.mss", "8961 B")],
    );
    assert!(nr.is_err_and(|error| error.starts_with("radio.lte.downlink.rlc: PDCP takes packets of 9000 B")));
}

#[test]
fn a_buffer_below_a_packet_is_refused_with_the_key() {
    let error = |text: &str, overrides: &[(&str, &str)]| try_parse(text, overrides).err().unwrap_or_default();
    let queue = "radio.dch.downlink.queue";
    let limit = |name: &str, bytes: &str| (format!("{queue}.{name}"), format!("{{ bytes = \"{bytes}\" }}"));
    for name in queue::Config::NAMES {
        let (key, value) = limit(name, "1499 B");
        let says = format!(
            "{queue}.{name}.bytes: a buffer of 1499 B has no room for a packet of 1500 B, which a flow sends; write at \
             least \"1500 B\", or let the flow send smaller packets"
        );
        assert_eq!(error("[[flow]]\n", &[(&key, &value)]), says);
        let (place, enough) = limit(name, "1500 B");
        assert_eq!(error("[[flow]]\n", &[(&place, &enough)]), "", "{name}");
    }
    let (key, value) = limit("droptail", "1000 B");
    for small in [
        ("tcp.mss", "960 B"),
        ("flow.app", "{ file = { size = \"900 B\" } }"),
        ("flow.app", "cbr"),
        ("flow.direction", "uplink"),
        ("radio.dch.downlink.queue.droptail.in_service", "excluded"),
    ] {
        assert_eq!(error("[[flow]]\n", &[(&key, &value), small]), "", "{small:?}");
    }
    let ping = error(
        "[[flow]]\napp.ping.answer = \"500 B\"\n",
        &[("radio.dch.uplink.queue.droptail.bytes", "400 B")],
    );
    assert!(ping.starts_with("radio.dch.uplink.queue.droptail.bytes: a buffer of 400 B"), "{ping}");
    let wired = "[wired]\nrate = \"1 Mbit/s\"\nqueue.droptail.bytes = \"1 kB\"\n[[flow]]\n";
    assert!(error(wired, &[]).starts_with("wired.queue.droptail.bytes: "), "{}", error(wired, &[]));
}

#[test]
fn a_resolved_scenario_reads_back_as_the_same_where_a_key_would_be_inherited() {
    // What a profile, `[wired]` or the cell gives and the table below it takes away.
    let profile = "[tcp]\nprofile = \"linux\"\n[[flow]]\ntcp.profile = \"rfc\"\n";
    let wired = "[wired]\nrate = \"1 Mbit/s\"\nqueue.droptail = { packets = 30 }\n[wired.uplink]\nrate = \"absent\"\n\
                 queue.droptail.packets = \"absent\"\n[[flow]]\n";
    let cell = "[umts]\n[radio.dch.downlink.queue.droptail]\npackets = 9\n\
                [radio.dch.qos.interactive.downlink.queue.droptail]\npackets = \"absent\"\n[[flow]]\n";
    for (text, key) in [
        (profile, "flow.0.tcp.receive_buffer_max"),
        (wired, "wired.uplink.rate"),
        (wired, "wired.uplink.queue.droptail.packets"),
        (cell, "radio.dch.qos.interactive.downlink.queue.droptail.packets"),
    ] {
        assert_eq!(at(text, &[], key), "\"absent\"");
        let resolved = try_parse(text, &[]).unwrap().to_toml().unwrap();
        assert_eq!(try_parse(&resolved, &[]).unwrap().to_toml().unwrap(), resolved, "{key}");
    }
}

#[test]
fn a_key_without_a_value_by_default_can_be_made_absent() {
    let queue = "radio.lte.downlink.queue.droptail";
    let unlimited = at(LTE, &[(&format!("{queue}.packets"), "absent")], queue);
    assert_eq!(unlimited, "{ in_service = \"excluded\" }");
    // The profile's own limit, and a timer that has a default.
    assert_eq!(at(LINUX, &[("tcp.receive_buffer_max", "absent")], "tcp.receive_buffer_max"), "\"absent\"");
    let am = "[radio.dch]\ndownlink.rlc = \"am\"\nuplink.rlc = \"am\"\n[[flow]]\n";
    let timer = "radio.dch.downlink.rlc.am.timer_poll";
    assert_eq!(at(am, &[(timer, "absent")], timer), "\"absent\"");
    // Other keys have no such value.
    let error = at(LINUX, &[("tcp.mss", "absent")], "tcp");
    assert!(error.starts_with("tcp.mss: not a number of bytes: \"absent\""), "{error}");
    let refused = at("[wired]\nuplink = \"none\"\n[[flow]]\n", &[], "wired");
    assert!(refused.starts_with("wired.uplink: "), "{refused}");
}

#[test]
fn what_has_no_effect_is_remarked_upon() {
    let of = |overrides: &[(&str, &str)]| {
        let remarks = try_parse(LTE, overrides).unwrap().remarks();
        remarks.into_iter().map(|remark| remark.to_string()).collect::<Vec<_>>()
    };
    let late = [("duration", "20 s"), ("handover", "[{ at = \"20 s\" }]")];
    let after_the_end = "handover[0].at: 20 s is not before the end of the run at 20 s; write an earlier time, or a longer duration";
    assert_eq!(of(&late), [after_the_end]);
    assert_eq!(of(&[("duration", "21 s"), late[1]]), [""; 0]);
    let small = [("tcp.profile", "linux"), ("flow.tcp.receive_buffer", "8 kB")];
    let grows = "flow[0].tcp.receive_buffer: 8 kB is the window at the start, which grows to 3744 KiB as Linux's; write \
                receive_buffer_max, too: the same, or \"absent\", to bound it";
    assert_eq!(of(&small), [grows]);
    for bound in ["absent", "8 kB", "64 kB"] {
        assert_eq!(of(&[small[0], small[1], ("flow.tcp.receive_buffer_max", bound)]), [""; 0], "{bound}");
    }
}

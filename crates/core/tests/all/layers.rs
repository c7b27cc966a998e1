//! Modules are layered in every crate: no two use each other, directly or indirectly. `lib.rs` of the core lists them
//! in order, and each uses only modules listed before it.
//!
//! A folder's `mod.rs` is not a layer next to its files: it defines their trait and lists them, and they use it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module, by the names that lead to it from the root.
type Name = Vec<String>;

/// The code of each module of a crate without its tests.
struct Crate(BTreeMap<Name, String>);

fn src_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src")
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Text without comments and tests: `#[cfg(test)]` applies to one line, or to the rest of the file.
fn code(text: &str) -> String {
    let (mut kept, mut is_test) = (String::new(), false);
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let is_attribute = line.trim() == "#[cfg(test)]";
        if is_test && !line.trim_end().ends_with([';', ',']) {
            break;
        }
        if !is_test && !is_attribute {
            kept.push_str(line);
            kept.push('\n');
        }
        is_test = is_attribute;
    }
    kept
}

/// The paths of a tree such as `a::{b, c::d}`, which begins with `text`.
fn paths(text: &str) -> Vec<Name> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let below = match rest.strip_prefix("::") {
        Some(group) if group.starts_with('{') => {
            let mut depth = 0;
            let parts = group[1..].split(|c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                c == ',' && depth == 0 || depth < 0
            });
            let mut found = Vec::new();
            let mut length = 1;
            for part in parts {
                found.extend(paths(part.trim()));
                length += part.len() + 1;
                if group[..length.min(group.len())].ends_with('}') && depth_of(&group[..length]) == 0 {
                    break;
                }
            }
            found
        }
        Some(rest) => paths(rest),
        None => Vec::new(),
    };
    let name = vec![name.to_owned()];
    match below.is_empty() {
        true => vec![name],
        false => below.into_iter().map(|path| [name.clone(), path].concat()).collect(),
    }
}

fn depth_of(text: &str) -> i32 {
    text.chars().map(|c| i32::from(c == '{') - i32::from(c == '}')).sum()
}

impl Crate {
    fn read(name: &str) -> Self {
        let src = src_of(name);
        let mut modules = BTreeMap::new();
        for path in sources(&src) {
            let inner = path.strip_prefix(&src).unwrap().with_extension("");
            let mut module: Name = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            // Tests in a file of their own may use anything.
            if module.last().is_some_and(|last| last == "tests") {
                continue;
            }
            module.pop_if(|last| last == "mod" || last == "lib");
            modules.insert(module, code(&fs::read_to_string(&path).unwrap()));
        }
        assert!(modules.len() > 2, "{name} was not read");
        Self(modules)
    }

    /// The module that `path` means in `from`, if there is one.
    fn resolve(&self, from: &Name, path: &[String]) -> Option<Name> {
        let mut path = path.iter().peekable();
        let mut here = match path.next()?.as_str() {
            "crate" => Name::new(),
            "self" => from.clone(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            child => [from.clone(), vec![child.to_owned()]].concat(),
        };
        while path.next_if(|name| *name == "super").is_some() {
            here.pop();
        }
        for name in path {
            let next = [here.clone(), vec![name.clone()]].concat();
            match self.0.contains_key(&next) {
                true => here = next,
                false => return Some(self.reexported(&here, name).unwrap_or(here)),
            }
        }
        self.0.contains_key(&here).then_some(here)
    }

    /// Where `name` comes from, if `module` hands it on from one below it.
    fn reexported(&self, module: &Name, name: &str) -> Option<Name> {
        let statements = self.0.get(module)?.split("\npub").skip(1);
        let uses = statements.filter_map(|rest| rest.split_once("use ").filter(|(kind, _)| kind.len() < 20));
        let paths = uses.flat_map(|(_, tree)| paths(tree.split(';').next().unwrap_or_default().trim()));
        paths.filter(|path| path.last().is_some_and(|last| last == name)).find_map(|path| {
            let below = [module.clone(), path[..path.len() - 1].to_vec()].concat();
            self.0.contains_key(&below).then_some(below)
        })
    }

    /// Which modules each uses, itself and those around it left out.
    fn uses(&self) -> Vec<(&Name, Name)> {
        let mut all = Vec::new();
        for (name, code) in &self.0 {
            for word in ["crate::", "super::", "self::"] {
                for (at, _) in code.match_indices(word) {
                    // Not the second of `super::super::`, nor the end of another word.
                    if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                        continue;
                    }
                    let found = paths(&code[at..]).into_iter().filter_map(|path| self.resolve(name, &path));
                    all.extend(found.map(|used| (name, used)));
                }
            }
        }
        all
    }

    /// Modules of one folder that use each other, as "folder: one, other, ...".
    fn circles(&self) -> BTreeSet<String> {
        let mut beside: BTreeMap<(Name, String), BTreeSet<String>> = BTreeMap::new();
        for (user, used) in self.uses() {
            let common = user.iter().zip(&used).take_while(|(one, other)| one == other).count();
            if let (Some(one), Some(other)) = (user.get(common), used.get(common)) {
                let key = (user[..common].to_vec(), one.clone());
                beside.entry(key).or_default().insert(other.clone());
            }
        }
        let reaches = |folder: &Name, from: &str| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
            while let Some(next) = left.pop() {
                for used in beside.get(&(folder.clone(), next)).into_iter().flatten() {
                    if seen.insert(used.clone()) {
                        left.push(used.clone());
                    }
                }
            }
            seen
        };
        let mut circles = BTreeSet::new();
        for (folder, name) in beside.keys() {
            let reached = reaches(folder, name);
            let circle: Vec<_> =
                reached.iter().filter(|other| reaches(folder, other).contains(name)).cloned().collect();
            if !circle.is_empty() {
                circles.insert(format!("{}: {}", folder.join("/"), circle.join(", ")));
            }
        }
        circles
    }
}

#[test]
fn no_modules_use_each_other() {
    for name in ["core", "analyze", "kit", "live", "py"] {
        let circles = Crate::read(name).circles();
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

#[test]
fn a_module_of_the_core_uses_only_modules_above_it() {
    let text = fs::read_to_string(src_of("core").join("lib.rs")).unwrap();
    let modules: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or(line.strip_prefix("mod ")))
        .map(|line| line.trim_end_matches(';'))
        .collect();
    assert!(modules.len() > 15, "lib.rs was not read: {modules:?}");
    let rank =
        |module: &Name| modules.iter().position(|name| Some(*name) == module.first().map(String::as_str));
    let core = Crate::read("core");
    let wrong: Vec<_> = core.uses().into_iter().filter(|(user, used)| rank(user) < rank(used)).collect();
    let wrong = wrong.iter().filter(|(user, _)| rank(user).is_some());
    let wrong: Vec<String> =
        wrong.map(|(user, used)| format!("{} uses {}", user.join("/"), used.join("/"))).collect();
    assert!(wrong.is_empty(), "uses of a module that stands lower in lib.rs:\n{}", wrong.join("\n"));
}

#[test]
fn the_rules_are_seen_where_they_are_broken() {
    let name =
        |text: &str| text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Name>();
    let of = |files: &[(&str, &str)]| {
        let with_root = files.iter().chain([("", "")].iter());
        Crate(with_root.map(|(path, text)| (name(path), code(text))).collect()).circles()
    };
    let nested = [
        ("a", "use crate::{b::{self, X}, c::d::Y};\n"),
        ("b", ""),
        ("c", ""),
        ("c/d", "fn f() -> crate::a::T\n"),
    ];
    assert_eq!(of(&nested), [": a, c".to_owned()].into());
    let handed_on = [
        ("m", "mod one;\nmod two;\npub use one::{One, Other};\n"),
        ("m/one", "use super::two::Two;\n"),
        ("m/two", "use super::Other;\n"),
    ];
    assert_eq!(of(&handed_on), ["m: one, two".to_owned()].into());
    let in_tests = [
        ("a", "#[cfg(test)]\nuse crate::b::tests;\n#[cfg(test)]\nmod tests {\n use crate::b;\n}\n"),
        ("b", "use crate::a;\n"),
    ];
    assert_eq!(of(&in_tests), BTreeSet::new());
}

#[test]
fn nothing_in_the_core_reads_a_clock_or_prints_or_opens_anything() {
    // Clippy refuses the methods; this refuses the modules.
    let refused = ["std::fs", "std::io", "std::thread", "std::process", "std::env", "println!", "SystemTime"];
    let mut wrong = Vec::new();
    for (module, code) in &Crate::read("core").0 {
        // The only threads: a feature that is off by default, and `std::io::Error` where the system refuses one.
        let allowed: &[&str] =
            if module.join("/") == "windows/threads" { &["std::thread", "std::io"] } else { &[] };
        for word in refused.iter().filter(|word| code.contains(**word) && !allowed.contains(word)) {
            wrong.push(format!("{}: {word}", module.join("/")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

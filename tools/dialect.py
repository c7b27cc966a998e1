"""Count phrases that the project's documents, comments and messages should not have.

    python tools/dialect.py [--phrase ID | --list PATH_PART [--weak]] [--top N]

An indicator, not a gate: `make lint` prints the total. It reads prose (Markdown, comments, docstrings, strings with
a space in them) and matches regular expressions, each with the standard wording. Code fences, inline code, link
targets and HTML comments are left out. "Strong" phrases are wrong or puzzling nearly everywhere; "weak" ones have a
legitimate use, and only their density says something.
"""
# ruff: noqa: E501, UP031

from __future__ import annotations

import argparse
import ast
import collections
import io
import os
import re
import subprocess
import sys
import tokenize

# fmt: off
UNITS = r"(?:instructions?|µs|ms|ns|runs|files|rows|retransmissions|timeouts|packets|ACKs|kB|MB|GB|B|bytes|octets|segments|entries|looks|copies|misses|tasks)"

PHRASES = [
    ("sent-again", True, r"\b(?:sends?|sent|sending)\b(?:\s+(?:it|them|this|these|that|what|everything|all|a packet|a segment|the packet|the segment|the first|as a probe))?\s+again\b", "retransmit(s), retransmitted, retransmission"),
    ("again-because", True, r"\b(?:segments?|packets?|blocks?|PDUs?|data|octets|bytes) (?:that (?:is|are|was|were) )?sent (?:again|twice|once more)\b", "retransmitted segments/PDUs"),
    ("repeat-block", False, r"\brepetitions?\b|\brepeated (?:PDUs?|blocks?)\b", "retransmission(s)"),
    ("in-vain", True, r"\bin vain\b|\bneedless(?:ly)?\b", "spurious (retransmission), unnecessary, wasted"),
    ("taken-for", True, r"\b(?:take|takes|taken|took|taking)\b(?:\s+\S+){0,5}?\s+for (?:a|an|the|that|those|lost|idle|one|four|duplicates?|new|ACKs|its|what|something)\b", "treat as, mistake for, assume"),
    ("under-way", True, r"\bunder way\b", "in flight, in progress, outstanding"),
    ("on-the-way", True, r"\bon (?:its|their|the|his|a) way\b(?! to )", "in flight, in transit"),
    ("on-the-air", True, r"\bon the air\b", "over the air, being transmitted"),
    ("stayed-away", True, r"\b(?:stay|stays|stayed) away\b", "is missing, did not arrive"),
    ("fate", True, r"\bfates?\b", "outcome (delivered, dropped, marked)"),
    ("hole", False, r"\bholes?\b", "gap (in sequence space)"),
    ("flight-what", True, r"\bwhat (?:is|was|were|are) (?:in flight|outstanding|on its way|sent|under way|not acknowledged|unacknowledged|acknowledged|lost|missing|due|queued|waiting|late)\b", "the data in flight / the outstanding segments / the missing PDUs (name the thing)"),
    ("what-comes", True, r"\bwhat (?:comes?|came|goes|went|waits?|waited|leaves|left|arrives?|arrived|enters?|passes|follows|others|both|nobody|no one|a box|it does)\b", "name the thing: incoming packets, queued SDUs, ..."),
    ("way-updown", True, r"\bway (?:up|down|back|there|out)\b|\bthe way (?:from|through|is|was|of)\b|\bways of\b|\bshort way\b|\ball the way\b|\bon the same way\b", "uplink/downlink, forward/reverse path, fast path"),
    ("past", False, r"\b(?:comes?|goes|went|leads?) past\b", "bypasses, passes"),
    ("behind-time", True, r"\bbehind (?:the (?:outage|loss|hole|gap|last|first|end|pause|restart|timeout|reordering timer|handshake|hand-over|message|same|others?|real ones?|FIN)|that|which|it|them|others|each other|all (?:others|that)|what|everything|iperf3)\b", "after (time), beyond/above (sequence numbers), queued behind (buffer)"),
    ("is-due", False, r"\b(?:is|are|was|were|falls?|fell|comes?|came) due\b|\bbeing due\b|\bdue (?:once more|together|first)\b", "expires, fires, is scheduled (keep 'due' for a deadline only)"),
    ("comes-up", True, r"\bcomes? up\b|\bcame up\b", "fires, expires, surfaces"),
    ("too-soon", False, r"\btoo (?:soon|early)\b|\bcomes? (?:late|soon|early)\b", "premature, arrives late"),
    ("anew", True, r"\banew\b", "again; re-: restart, recompute, redraw, remeasure, reset"),
    ("once-more", True, r"\bonce (?:more|again)\b", "again"),
    ("goes-on", True, r"\b(?:go|goes|went|going) on\b", "continues, passes on (packets), keeps running"),
    ("ahead-of-time", True, r"\bahead of (?:its|their|the) (?:own )?time\b|\bgo(?:es)? ahead\b", "early delivery, lookahead (one term, defined once)"),
    ("beside", True, r"\bbeside\b", "compared with, against, next to, alongside, besides"),
    ("likewise", True, r"\blikewise\b", "also, the same, in the same way (or repeat the words)"),
    ("in-place-of", True, r"\bin (?:the )?place of\b", "instead of, replaces"),
    ("but-for", True, r"\bbut for\b|\ball but\b|\bnothing but\b|\bbut not\b(?= (?:its|their|the))", "except (for), only"),
    ("alone-only", False, r"\balone\b(?! in the (?:cell|network))", "only, by itself"),
    ("all-the-same", True, r"\ball the same\b", "anyway, still, even so"),
    ("less-minus", True, r"\bless (?:the|what|one|its|that|those|headers|live)\b|\b(?:number|time|window|size|sum|mean) less\b", "minus"),
    ("worlds", True, r"\b(?:both|either|two|each|one|other) worlds?\b", "simulation and live run"),
    ("ours-theirs", True, r"\b(?:beside|than|with|of|as|and|from|but) ours\b|\bours (?:is|are|has|have|then)\b|\btheirs\b|\bour (?:own )?(?:TCP|sender|receiver|end|side|scenarios)\b", "airpath's TCP / sender / measured value"),
    ("nobody", True, r"\b(?:nobody|somebody|anybody|everybody|whoever|no one)\b", "no subscriber, any element, nothing (a component is not a person)"),
    ("whom", False, r"\b(?:to|of|by|from|for|with) whom\b|\bwho (?:asks?|waits?|knows|goes|has|sends|is (?:served|next|asked|told))\b", "which element/UE/flow"),
    ("of-which", True, r"\bof (?:which|whose)\b", "whose, where, with N of them (or two sentences)"),
    ("by-which", True, r"\bby which\b|\bby what\b|\bto which\b|\bfrom which\b|\bpast which\b|\bbehind which\b|\bat which\b", "that/with/where + active verb"),
    ("those-that", True, r"\bthose (?:that|which|who|in|by|to|at|from|beyond|behind|before|above|below|there)\b", "the <noun> that"),
    ("those-of", False, r"\bthose of\b", "repeat the noun"),
    ("that-of", False, r"\bthat of\b", "repeat the noun, or 's"),
    ("starts-with-that", True, r"(?:^|[.:;] )(?:That|Those|Whose) (?:of|by|in|for|to|with|from|at|before|behind|there|which)\b", "begin with the noun"),
    ("starts-with-of", True, r"(?:^|[.:;] )Of (?:a|an|the|which|what|these|those|all|each|every|its|their|one|two|both|[a-z]+s)\b", "begin with the subject: 'For each ...', 'X's ...'"),
    ("starts-with-in-place", True, r"(?:^|[.:;] )(?:In place of|There is one|With the lanes|As (?:[A-Z`\[]\S* )?has it|The same (?:by|of|for|with|at|in|as)|Likewise)\b", "say what it is"),
    ("as-has-it", True, r"\bas\b(?: \S+){1,4} ha(?:s|ve) it\b", "as defined by, as in"),
    ("as-far-as", True, r"\bas far as\b", "up to, where, to the extent that, only if"),
    ("of-them-what", False, r"\bof (?:it|them|this|that|these|those) (?:alone|what|nothing|all|none|only)\b|\bof all that\b|\ball of (?:it|that|what)\b|\bnothing of\b", "name it"),
    ("stand-for", True, r"\bstands? for (?:it|them|these|those|all|two|each|the|its|their|a)\b|\bstand(?:s|ing)? (?:at|in front|there|alone|beside|between|behind|before)\b", "represents, replaces, is located at"),
    ("hears", True, r"\b(?:hear|hears|heard|hearing)\b", "is notified of, receives"),
    ("told", True, r"\b(?:is|are|was|were|be|been) told\b|\btells? of\b|\btold of\b|\bsays? of\b|\bsaid of\b|\bknows? of\b|\bknown of\b|\bknow nothing\b", "is notified, reports, records, tracks"),
    ("asked", True, r"\b(?:is|are|was|were|be|been|being) asked\b|\basks? (?:for|whether|the|each|it|them|a|about|nobody|of)\b", "is queried / polled / called; checks"),
    ("answers", False, r"\b(?:answer|answers|answered)\b", "returns (function), responds, replies, ACKs"),
    ("wants", True, r"\bwants?\b(?! to (?:know|see|use|change|understand|model|write|run))", "requires, needs, expects, asks for"),
    ("looks-on", True, r"\blook(?:s|ed|ing)? (?:on|after|into|at what)\b", "observes; is attached"),
    ("counts-for", True, r"\bcounts? (?:for )?nothing\b|\bmeans? nothing\b|\bsays? nothing\b|\bdoes nothing to\b", "is ignored"),
    ("gives-up", False, r"\bgiv(?:e|es|en|ing) up\b|\bgave up\b", "is discarded, aborts"),
    ("lets", False, r"\blets? (?:go|through|in|out|by|pass|one|two|it|them)\b", "releases, admits, forwards"),
    ("books", True, r"\b(?:the )?books\b", "buffer accounting, counters"),
    ("put-right", True, r"\bput right\b|\bputs? (?:it |them )?(?:right|together|in line)\b", "corrected, rescheduled; reassembled, combined"),
    ("keeps-step", True, r"\bin step\b|\bkeeps? (?:the )?order\b|\bkeeps? to\b|\bkeeps? what\b", "synchronised; preserves order; complies with"),
    ("has-it", False, r"\bhas (?:it|them|none|one)\b", "contains, stores; none"),
    ("fulfil", True, r"\bfulfils?\b", "implement, satisfy"),
    ("begun", False, r"\b(?:begin|begins|began|begun|beginning)\b", "start(s), started"),
    ("luck", True, r"\b(?:good |bad |same )?luck\b", "random draws, randomness"),
    ("per-a", True, r"(?<!of )\b%s (?:a|an) (?:packet|run|segment|second|row|slot|point|byte|octet|TTI|minute|hour|round trip|window|cell|seed|file|flow|UE|line|step)\b" % UNITS, "per packet, per run, per second"),
    ("percentile", True, r"\b\d+ ?% point\b|\bpoints? of (?:the )?delay\b", "95th percentile"),
    ("number-index", True, r"\bthe number of (?:a|an|the (?:slot|UE|element|lane|flow|run|packet|interface|connection|bearer)|its|their)\b|\bby (?:its|their) numbers?\b|\bby the number of\b", "index, ID ('number of' reads as a count)"),
    ("shortest-rtt", True, r"\b(?:shortest|smallest|least|longest) (?:round[- ]trips?(?:[- ]time)?|timeout|RTT|number|wait)\b|\bshortest timeout\b", "minimum RTT, minimum RTO"),
    ("longest-tail", False, r"\bthe whole of\b|\bat the most\b|\bat the least\b", "at most, all"),
    ("cut", False, r"\bcuts?\b", "segments (SDU), truncates, reduces"),
    ("wire", False, r"\b(?:a|the|over|along|behind) wire\b", "wired link"),
    ("draws", False, r"\bdraws? (?:of|from|that|a|the)\b", "samples (random), plots (picture): not the same word for both"),
    ("fall", False, r"\b(?:falls?|fell) (?:to|by|from|below|half|due|as)\b", "drops, decreases"),
    ("let-be", False, r"\bas it (?:is|was|came|stands)\b|\bas they (?:are|were|come|came)\b|\bas there (?:is|are)\b", "unchanged, as is"),
    ("whatever", False, r"\bwhatever\b", "regardless of, all"),
    ("so-that-clause", False, r"\bso that\b", "so; to + infinitive (fine once a page)"),
    ("one-another", False, r"\bthe one (?:and|or|to|from|before|after|that)\b|\bone after the other\b|\bthe one\b", "the former, the previous; sequentially"),
    ("of-its-own", False, r"\bof (?:its|their|his|our|your) own\b", "separate, dedicated, its own X"),
    ("in-either", False, r"\bat either end\b|\bin either\b|\beither side\b", "at both ends, in each direction"),
]

COMPILED = [(key, strong, re.compile(rx, re.IGNORECASE if key not in ("starts-with-of", "starts-with-that") else 0), fix)
            for key, strong, rx, fix in PHRASES]
# fmt: on


SKIP_PARTS = {
    ".git",
    "target",
    ".venv",
    "node_modules",
    "vendor",
    "build",
    "dist",
    "__pycache__",
    "out",
    "corpus",
    "proptest-regressions",
    "images",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
}
SUFFIXES = {".md", ".rs", ".py", ".js", ".toml", ".html", ".pyi"}
SKIP_FILES = {"dialect.py", "Cargo.lock", "Cargo.toml", "deny.toml", "rustfmt.toml", "clippy.toml"}


def files_of(tree):
    try:
        done = subprocess.run(["git", "-C", tree, "ls-files", "-z"], capture_output=True, check=True)
        names = done.stdout.decode(errors="replace").split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, found in os.walk(tree):
            folders[:] = [name for name in folders if name not in SKIP_PARTS]
            names += [os.path.relpath(os.path.join(folder, name), tree) for name in found]
    for name in sorted(names):
        parts = name.split("/")
        if (
            os.path.splitext(name)[1] in SUFFIXES
            and not SKIP_PARTS & set(parts)
            and parts[-1] not in SKIP_FILES
        ):
            yield name


def area_of(name):
    parts = name.split("/")
    if parts[0] == "crates":
        kind = "tests" if "tests" in parts[2:3] or parts[-1] == "tests.rs" or "benches" in parts else "src"
        return f"crates/{parts[1]} {kind}"
    if parts[0] == "python":
        return "studio (JS, HTML)" if name.endswith((".js", ".html")) else "python"
    if parts[0] == "docs":
        return "docs/papers" if "papers" in name else "docs"
    if len(parts) == 1:
        return "README, CONTRIBUTING, ..." if name != "CHANGELOG.md" else "CHANGELOG"
    return parts[0]


def blank(match):
    return "\n" * match.group(0).count("\n")


INLINE = [
    re.compile(r"<!--.*?-->", re.S),
    re.compile(r"^( *)(```|~~~).*?^ *\2 *$", re.S | re.M),
    re.compile(r"``[^`]*``|`[^`\n]*`"),
    re.compile(r"\]\([^)\s]*(?: \"[^\"]*\")?\)"),
    re.compile(r"<[^>\n]+>"),
]


def plain(text):
    for index, pattern in enumerate(INLINE):
        text = pattern.sub(blank if index < 2 else " X ", text)
    return text


def join(blocks):
    """Adjacent comment lines become one block, so that a phrase over a line break is found."""
    merged = []
    for line, text in blocks:
        if merged and merged[-1][2] + 1 == line:
            merged[-1][1].append(text)
            merged[-1][2] = line
        else:
            merged.append([line, [text], line])
    return [(line, "\n".join(texts)) for line, texts, _ in merged]


def worded(text):
    return " " in text.strip() and re.search(r"[a-z]{2,} [a-z]{2,}", text) is not None


def lex_c(text, rust):
    """Comments and string literals of Rust or JavaScript, by a small state machine."""
    comments, strings = [], []
    at, line, size = 0, 1, len(text)
    while at < size:
        here = text[at]
        if here == "\n":
            line += 1
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            end = size if end < 0 else end
            comments.append((line, re.sub(r"^//[/!]? ?", "", text[at:end])))
            at = end
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            end = size if end < 0 else end + 2
            body = text[at:end]
            for offset, piece in enumerate(body.split("\n")):
                comments.append((line + offset, re.sub(r"^\s*/?\*+/? ?|\*/$", "", piece)))
            line += body.count("\n")
            at = end
        elif (
            rust
            and re.match(r'b?r#*"', text[at : at + 8])
            and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_"))
        ):
            opening = re.match(r'b?r(#*)"', text[at : at + 8])
            end = text.find('"' + opening.group(1), at + opening.end())
            end = size if end < 0 else end
            body = text[at + opening.end() : end]
            strings.append((line, body))
            line += body.count("\n")
            at = end + 1 + len(opening.group(1))
        elif here == '"' or (not rust and here in "'`"):
            end = at + 1
            while end < size and text[end] != here:
                if text[end] == "\\":
                    end += 1
                elif text[end] == "\n" and not rust and here != "`":
                    break
                end += 1
            body = text[at + 1 : end]
            strings.append((line, re.sub(r"\\\n\s*", "\n", body)))
            line += body.count("\n")
            at = end + 1
        elif rust and here == "'":
            char = re.match(r"'(?:\\.[^']*|[^'\\])'", text[at : at + 12])
            at += char.end() if char else 1
        else:
            at += 1
    return join(comments) + [(number, body) for number, body in strings if worded(body)]


def lex_python(text):
    comments, strings = [], []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.string.lstrip("# ")))
            elif token.type == tokenize.STRING:
                try:
                    value = ast.literal_eval(token.string)
                except (ValueError, SyntaxError):
                    value = token.string
                if isinstance(value, str) and worded(value):
                    strings.append((token.start[0], value))
            elif token.type == getattr(tokenize, "FSTRING_MIDDLE", -1) and worded(token.string):
                strings.append((token.start[0], token.string))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass
    return join(comments) + strings


def prose(name, text):
    suffix = os.path.splitext(name)[1]
    if suffix == ".rs":
        return lex_c(text, rust=True)
    if suffix == ".js":
        return lex_c(text, rust=False)
    if suffix in (".py", ".pyi"):
        return lex_python(text)
    if suffix == ".toml":
        return join(
            [
                (number, row.strip().lstrip("# "))
                for number, row in enumerate(text.split("\n"), 1)
                if row.strip().startswith("#")
            ]
        )
    if suffix == ".html":
        return [(1, re.sub(r"<(script|style)\b.*?</\1>", blank, text, flags=re.S))]
    return [(1, text)]


def hits_of(name, text):
    """(hits, lines of prose): a hit is (line, id, strong, matched text, suggestion, context)."""
    found, lines = [], 0
    for start, block in prose(name, text):
        block = plain(block)
        lines += sum(1 for row in block.split("\n") if row.strip())
        flat = re.sub(r"\n[ \t]*", "\n", block)
        spaced = flat.replace("\n", " ")  # same length: offsets stay valid
        for key, strong, pattern, fix in COMPILED:
            for match in pattern.finditer(spaced):
                line = start + flat.count("\n", 0, match.start())
                around = spaced[max(0, match.start() - 40) : match.end() + 40].strip()
                found.append((line, key, strong, match.group(0).strip(), fix, around))
    return found, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", nargs="?", default=".")
    parser.add_argument("--top", type=int, default=40, help="worst files to print; 0 for the total alone")
    parser.add_argument(
        "--list", metavar="PATH_PART", help="print every hit in files whose path contains this"
    )
    parser.add_argument("--phrase", metavar="ID", help="print every hit of one phrase")
    parser.add_argument("--weak", action="store_true", help="with --list: weak phrases too")
    own = parser.parse_args()
    known = {key: (strong, fix) for key, strong, _, fix in PHRASES}
    if own.phrase and own.phrase not in known:
        sys.exit(f"no such phrase; known: {', '.join(known)}")

    by_file, by_phrase, by_area = {}, collections.Counter(), collections.defaultdict(lambda: [0, 0, 0, 0])
    for name in files_of(own.tree):
        try:
            with open(os.path.join(own.tree, name), encoding="utf-8", errors="replace") as source:
                text = source.read()
        except OSError:
            continue
        hits, lines = hits_of(name, text)
        strong = sum(1 for hit in hits if hit[2])
        by_file[name] = {"strong": strong, "weak": len(hits) - strong, "lines": lines}
        area = by_area[area_of(name)]
        for index, value in enumerate((1, lines, strong, len(hits) - strong)):
            area[index] += value
        by_phrase.update(hit[1] for hit in hits)
        for line, key, is_strong, match, fix, around in sorted(hits):
            if own.phrase == key or (own.list and own.list in name and (is_strong or own.weak)):
                print(f"{name}:{line}: [{key}] {match!r} -> {fix}\n    ... {around} ...")
    if own.list or own.phrase:
        return

    if own.top == 0:
        strong = sum(row["strong"] for row in by_file.values())
        print(
            f"dialect: {strong} strong hits in {sum(row['lines'] for row in by_file.values())} lines of prose"
        )
        return
    print(f"{'area':28}{'files':>7}{'prose lines':>13}{'strong':>8}{'weak':>8}{'strong/100':>12}")
    total = [0, 0, 0, 0]
    for area, row in sorted(by_area.items(), key=lambda item: -item[1][2]):
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"{area:28}{row[0]:7}{row[1]:13}{row[2]:8}{row[3]:8}{100 * row[2] / max(row[1], 1):12.1f}")
    print(
        f"{'total':28}{total[0]:7}{total[1]:13}{total[2]:8}{total[3]:8}{100 * total[2] / max(total[1], 1):12.1f}"
    )

    def table(title, order, keep):
        print(f"\n{title}\n{'strong':>7}{'weak':>6}{'lines':>7}{'per 100':>9}  file")
        rows = [(name, row) for name, row in by_file.items() if keep(row)]
        for name, row in sorted(rows, key=lambda item: -order(item[1]))[: own.top]:
            print(
                f"{row['strong']:7}{row['weak']:6}{row['lines']:7}{100 * row['strong'] / max(row['lines'], 1):9.1f}  {name}"
            )

    table("most hits", lambda row: row["strong"], lambda row: True)
    table(
        "densest (40 lines of prose or more)",
        lambda row: row["strong"] / max(row["lines"], 1),
        lambda row: row["lines"] >= 40,
    )
    print(f"\n{'count':>6}  phrase (* strong) -> write instead")
    for key, count in by_phrase.most_common():
        strong, fix = known[key]
        print(f"{count:6}  {'*' if strong else ' '} {key:22} -> {fix}")


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.stderr.close()

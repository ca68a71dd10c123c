//! A page of headings, lists, tables and code, as Markdown or as one HTML file.
use std::fmt::Write;

/// A piece of a page. All texts are plain: each form escapes them in its own way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// A heading of this level, from 1.
    Heading(u8, String),
    Text(String),
    /// `name: text` in each line.
    Facts(Vec<(String, String)>),
    /// A command for each name.
    Commands(Vec<(String, String)>),
    Table(Vec<&'static str>, Vec<Vec<String>>),
    /// A text as it is, in this language.
    Code(&'static str, String),
}

/// How the page looks in a browser. It names no file outside of itself.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;\
color:#222;background:#fff}code,pre{font-family:ui-monospace,monospace;font-size:.9em}\
pre{background:#f5f5f5;padding:1em;overflow-x:auto}table{border-collapse:collapse}\
th,td{text-align:left;padding:.2em .8em .2em 0;border-bottom:1px solid #ddd;vertical-align:top}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#222}th,td{border-color:#444}}";

/// The page as Markdown.
pub(crate) fn markdown(blocks: &[Block]) -> String {
    let mut page = String::new();
    for block in blocks {
        if !page.is_empty() {
            page.push('\n');
        }
        match block {
            Block::Heading(level, text) => {
                page.push_str(&format!("{} {}\n", "#".repeat(usize::from(*level)), md(text)))
            }
            Block::Text(text) => page.push_str(&format!("{}\n", md_lines(text))),
            Block::Facts(facts) => {
                for (name, text) in facts {
                    page.push_str(&format!("- **{}**: {}\n", md(name), md(text)));
                }
            }
            Block::Commands(commands) => {
                for (name, command) in commands {
                    page.push_str(&format!("- {}: {}\n", md(name), md_code(command)));
                }
            }
            Block::Table(head, rows) => {
                page.push_str(&format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len())));
                for row in rows {
                    let cells: Vec<String> = row.iter().map(|cell| md(cell)).collect();
                    page.push_str(&format!("| {} |\n", cells.join(" | ")));
                }
            }
            Block::Code(language, text) => {
                let fence = "`".repeat(longest_run(text).max(2) + 1);
                page.push_str(&format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n')));
            }
        }
    }
    page
}

/// The page as one HTML file.
pub(crate) fn html(title: &str, blocks: &[Block]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escaped(title)
    );
    for block in blocks {
        match block {
            Block::Heading(level, text) => page.push_str(&format!("<h{level}>{}</h{level}>\n", escaped(text))),
            Block::Text(text) => page.push_str(&format!("<p>{}</p>\n", escaped(text).replace('\n', "<br>\n"))),
            Block::Facts(facts) => {
                let items = facts.iter().map(|(name, text)| format!("<b>{}</b>: {}", escaped(name), escaped(text)));
                page.push_str(&list(items));
            }
            Block::Commands(commands) => {
                let items = commands
                    .iter()
                    .map(|(name, command)| format!("{}: <code>{}</code>", escaped(name), escaped(command)));
                page.push_str(&list(items));
            }
            Block::Table(head, rows) => {
                let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
                    cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect::<String>()
                };
                page.push_str(&format!("<table>\n<tr>{}</tr>\n", cells("th", &mut head.iter().copied())));
                for row in rows {
                    page.push_str(&format!("<tr>{}</tr>\n", cells("td", &mut row.iter().map(String::as_str))));
                }
                page.push_str("</table>\n");
            }
            Block::Code(_, text) => page.push_str(&format!("<pre>{}</pre>\n", escaped(text))),
        }
    }
    page + "</body>\n</html>\n"
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<ul>\n{items}</ul>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A paragraph in which nothing is Markdown; line breaks stay line breaks.
fn md_lines(text: &str) -> String {
    let line = |line: &str| {
        let shown = md(line.trim_start());
        // These begin a heading, a list, a quotation or a rule.
        let digits = shown.bytes().take_while(u8::is_ascii_digit).count();
        match shown.as_bytes().get(digits) {
            Some(b'.' | b')') if digits > 0 => format!("{}\\{}", &shown[..digits], &shown[digits..]),
            _ if shown.starts_with(['#', '>', '-', '+', '=']) => format!("\\{shown}"),
            _ => shown,
        }
    };
    text.trim_end_matches('\n').split('\n').map(line).collect::<Vec<_>>().join("<br>\n")
}

/// A piece of a line in which nothing is Markdown.
fn md(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let after = rest.as_str();
        match letter {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push(' '),
            // A bare address or name would become a link where the page is shown.
            ':' if after.starts_with("//") => out.push_str("&#58;"),
            '@' if after.starts_with(char::is_alphanumeric) => out.push_str("&#64;"),
            'w' | 'W' if after.get(..3).is_some_and(|next| next.eq_ignore_ascii_case("ww.")) => {
                out.push_str("&#");
                out.push_str(if letter == 'w' { "119;" } else { "87;" });
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    out
}

/// A command in one line.
fn md_code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    let mut out = String::new();
    write!(out, "{fence}{room}{text}{room}{fence}").ok();
    out
}

/// How many backquotes stand together at most.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Block, html, markdown};

    fn page() -> Vec<Block> {
        vec![
            Block::Heading(1, "<b> & *c*".to_owned()),
            Block::Text("# not a heading\n- no list | `x`".to_owned()),
            Block::Facts(vec![("cost".to_owned(), "$1_000".to_owned())]),
            Block::Commands(vec![("next".to_owned(), "make `x`".to_owned())]),
            Block::Table(vec!["A", "B"], vec![vec!["a|b".to_owned(), "</td>".to_owned()]]),
            Block::Code("diff", "+```\n".to_owned()),
        ]
    }

    #[test]
    fn no_text_of_a_page_becomes_markdown() {
        assert_eq!(
            markdown(&page()),
            "# &lt;b> &amp; \\*c\\*\n\n\\# not a heading<br>\n\\- no list \\| \\`x\\`\n\n- **cost**: $1\\_000\n\n\
             - next: `` make `x` ``\n\n| A | B |\n|---|---|\n| a\\|b | &lt;/td> |\n\n````diff\n+```\n````\n"
        );
    }

    #[test]
    fn no_address_name_or_number_of_a_text_becomes_a_link_or_a_list() {
        let shown = |text: &str| markdown(&[Block::Text(text.to_owned())]);
        assert_eq!(shown("1. see https://a.b/c"), "1\\. see https&#58;//a.b/c\n");
        assert_eq!(shown("2) www.a.b and a: b"), "2\\) &#119;ww.a.b and a: b\n");
        assert_eq!(shown("~~gone~~ @someone a @ b"), "\\~\\~gone\\~\\~ &#64;someone a @ b\n");
    }

    #[test]
    fn no_text_of_a_page_becomes_html() {
        let page = html("</title><script>", &page());
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;</title>"), "{page}");
        assert!(page.contains("<h1>&lt;b&gt; &amp; *c*</h1>"), "{page}");
        assert!(page.contains("<td>a|b</td><td>&lt;/td&gt;</td>"), "{page}");
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("http"), "a page loads nothing: {page}");
    }
}

//! Links in documents lead somewhere.

use xtask::Tree;
use xtask::rules::links::check;

use crate::told;

#[test]
fn links_that_lead_somewhere_are_fine() {
    let readme = "\
[guide](docs/guide/start.md) and [its part](docs/guide/start.md#part), [folder](docs/guide/)
[here](#part) [web](https://example.org/x.md) [mail](mailto:me@example.org) [root](.)
![picture](<docs/a picture.png> \"a title\") [titled](docs/guide/start.md \"title\")
[named]: ./docs/guide/start.md
[^note]: a footnote is no link
`[code](missing.md)` and ``[code](`missing.md)``
```text
[fenced](missing.md)
~~~
```
";
    let tree = Tree::of(&[
        ("README.md", readme),
        ("docs/a picture.png", ""),
        ("docs/guide/start.md", "[up](../../README.md) [root](/README.md) [next](start.md)\n"),
    ]);
    assert_eq!(told(&check(&tree)), [""; 0]);
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let tree = Tree::of(&[
        ("README.md", "[a](docs/gone.md#part) and [b](docs/start.md), [c](gone(1).md)\n"),
        ("docs/start.md", "\n```text\n```\n[up](../../outside.md)\n[named]: gone.md\n"),
    ]);
    let told_of =
        |at: &str, target: &str| format!("{at}: dead link `{target}`; point it to an existing file, or remove it");
    assert_eq!(
        told(&check(&tree)),
        [
            told_of("README.md:1", "docs/gone.md#part"),
            told_of("README.md:1", "gone(1).md"),
            told_of("docs/start.md:4", "../../outside.md"),
            told_of("docs/start.md:5", "gone.md"),
        ]
    );
}

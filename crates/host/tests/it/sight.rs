//! A walker of the tests' own: what a tree is, told by `lstat` and reading alone.
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Kind and permissions, the bytes, and the first name of the same file.
pub(crate) type Sight = BTreeMap<Vec<u8>, (u32, Vec<u8>, Vec<u8>)>;

/// Everything below a folder.
pub(crate) fn sight(root: &Path) -> Sight {
    let mut sight = Sight::new();
    let mut first: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let mut names: Vec<_> = fs::read_dir(root.join(&folder)).unwrap().map(|entry| entry.unwrap()).collect();
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names {
            let path = folder.join(entry.file_name());
            let found = fs::symlink_metadata(root.join(&path)).unwrap();
            let bytes = if found.is_symlink() {
                fs::read_link(root.join(&path)).unwrap().into_os_string().into_vec()
            } else if found.is_file() {
                fs::read(root.join(&path)).unwrap()
            } else {
                Vec::new()
            };
            let name = path.as_os_str().as_bytes().to_vec();
            let same = if found.is_file() {
                first.entry(found.ino()).or_insert_with(|| name.clone()).clone()
            } else {
                Vec::new()
            };
            // The permissions of a link mean nothing.
            let mode = if found.is_symlink() { 0o120_000 } else { found.mode() };
            sight.insert(name, (mode, bytes, same));
            if found.is_dir() {
                open.push(path);
            }
        }
    }
    sight
}

/// The same without what lies at or below these.
pub(crate) fn without(sight: &Sight, left_out: &[&str]) -> Sight {
    let out = |path: &[u8]| {
        left_out.iter().any(|one| path == one.as_bytes() || path.starts_with(format!("{one}/").as_bytes()))
    };
    sight.iter().filter(|(path, _)| !out(path)).map(|(path, what)| (path.clone(), what.clone())).collect()
}

/// What differs, in few words.
pub(crate) fn differences(left: &Sight, right: &Sight) -> Vec<String> {
    let brief = |sight: &Sight, path: &[u8]| {
        sight.get(path).map(|(mode, bytes, same)| format!("{mode:o}, {} bytes, {same:?}", bytes.len()))
    };
    let paths: std::collections::BTreeSet<&Vec<u8>> = left.keys().chain(right.keys()).collect();
    let differ = paths.into_iter().filter(|path| left.get(*path) != right.get(*path));
    differ
        .map(|path| format!("{}: {:?} is {:?}", String::from_utf8_lossy(path), brief(left, path), brief(right, path)))
        .collect()
}

/// A file with its folders.
pub(crate) fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A tree with what is odd about trees. `target` is ignored in it.
pub(crate) fn odd_tree(root: &Path) {
    write(root, ".gitignore", "target/\n*.log\n");
    write(root, ".git/HEAD", "ref: refs/heads/main\n");
    write(root, "src/main.rs", "fn main() {}\n");
    write(root, "target/debug/built", "built\n");
    write(root, "noise.log", "noise\n");
    write(root, "nested/.git/HEAD", "ref: refs/heads/inner\n");
    write(root, "nested/inner", "inner\n");
    for (name, mode) in [("program", 0o755), ("setuid", 0o4755), ("secret", 0o600), ("readable", 0o444)] {
        write(root, name, name);
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    }
    for (name, mode) in [("empty", 0o755), ("closed", 0), ("sticky", 0o1777), ("setgid", 0o2755)] {
        fs::create_dir(root.join(name)).unwrap();
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    }
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("cycle", root.join("cycle")).unwrap();
    symlink("/etc/passwd", root.join("outward")).unwrap();
    let odd = std::ffi::OsString::from_vec(b"odd \xff\n\"\\name".to_vec());
    fs::write(root.join(odd), "odd").unwrap();
    fs::write(root.join("n".repeat(255)), "long").unwrap();
    write(root, "é", "composed");
    write(root, "e\u{301}", "decomposed");
    fs::hard_link(root.join("src/main.rs"), root.join("src/same.rs")).unwrap();
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(8 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"far away", 5 << 20).unwrap();
    let large: Vec<u8> = (0..500_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(root.join("large"), large).unwrap();
}

/// Does to such a tree what an agent may do.
pub(crate) fn spoil(root: &Path) {
    fs::write(root.join("src/main.rs"), "fn other() {}\n").unwrap();
    fs::remove_file(root.join("src/same.rs")).unwrap();
    fs::set_permissions(root.join("setuid"), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(root.join("closed"), Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir(root.join("empty")).unwrap();
    write(root, "empty", "a file now");
    fs::remove_file(root.join("outward")).unwrap();
    fs::create_dir(root.join("outward")).unwrap();
    write(root, "outward/in/it", "new");
    fs::remove_file(root.join("sparse")).unwrap();
    fs::write(root.join("large"), "small").unwrap();
    fs::remove_dir_all(root.join("nested/.git")).unwrap();
    write(root, "made/by/the/agent", "new");
    write(root, "target/debug/built", "built again\n");
    write(root, "noise.log", "more noise\n");
    write(root, ".git/HEAD", "ref: refs/heads/other\n");
}

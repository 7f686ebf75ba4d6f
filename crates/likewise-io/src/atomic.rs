//! Files that are either complete or not there.

mod part;

use std::fs::{File, Metadata};
use std::io::{BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::input::{Special, special};
use crate::{Error, Result};

/// Links followed one after the other before they are taken for a circle.
const LINKS: usize = 40;

/// Between two tries to write into what takes nothing more for now.
const PATIENCE: Duration = Duration::from_millis(1);

/// Writes a file through `fill`, atomically.
///
/// The bytes go to a temporary file in the same folder, are flushed and synced to the
/// device, and only then take the name `path`, replacing an older file, whose permissions
/// are kept. When `fill` or a write fails, the temporary file is removed and an older file
/// stays as it was. A writer that is killed leaves its temporary file, `.NAME.` with twelve
/// letters or digits and `.part`; the next one to write `path` removes it, but none that
/// another process is writing. The folder must exist, and is listed once. Not for appending.
///
/// What stands at `path` decides: of a symbolic link the target is written, also one that is
/// not there yet, and the link stays. A pipe, a device such as `/dev/null`, the
/// [standard output](is_standard_output) and the standard error get the bytes and are never replaced; they
/// are collected in a temporary file first, so `fill` may seek. A file that is write-protected (no write bit
/// in its mode, also for root), a folder, a socket and a disk are refused, where they are neither of these two.
///
/// ```
/// use std::io::Write;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("note.txt");
/// likewise_io::atomic::write(&path, |file| Ok(file.write_all(b"done")?))?;
/// assert_eq!(std::fs::read(&path)?, b"done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    let written = || match place(path)? {
        Place::File(path, old) => replace(&path, old.as_ref(), fill),
        Place::Stream(path) => pass_on(&path, fill),
    };
    written().map_err(|e: Error| e.within(path.display()))
}

/// Whether two paths lead to the same file, by links of any kind; `false` where one of them
/// is not there. To refuse an output that would replace its input.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// assert!(!likewise_io::atomic::same_file(&path, &path));
/// std::fs::write(&path, "")?;
/// assert!(likewise_io::atomic::same_file(&path, &folder.path().join("./a")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let open = |path: &Path| match standard_stream(path) {
            Some(file) => file?.metadata(),
            None => std::fs::metadata(path),
        };
        let of = |path: &Path| open(path).map(|m| (m.dev(), m.ino()));
        matches!((of(a), of(b)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    {
        let of = |path: &Path| std::fs::canonicalize(path);
        matches!((of(a), of(b)), (Ok(a), Ok(b)) if a == b)
    }
}

/// Whether [`write()`] to both paths would write one file, by links of any kind, also where there is
/// none yet. To refuse two outputs of which one would replace the other.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// assert!(likewise_io::atomic::same_place(&path, &folder.path().join("./a")));
/// assert!(!likewise_io::atomic::same_place(&path, &folder.path().join("b")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn same_place(a: &Path, b: &Path) -> bool {
    same_file(a, b) || resolved(a) == resolved(b)
}

/// Where [`write()`] would put its bytes: the whole path with all links resolved, also of a file that
/// is not there yet. Where its folder is not there, the path stays as it is. A name of the standard output
/// leads where the system's link of this name does.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let new = folder.path().join("./a");
/// assert_eq!(likewise_io::atomic::resolved(&new), folder.path().canonicalize()?.join("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resolved(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    // A circle is refused by who writes.
    for _ in 0..LINKS {
        let Ok(target) = std::fs::read_link(&end) else {
            break;
        };
        end = folder_of(&end).join(target);
    }
    match (std::fs::canonicalize(folder_of(&end)), end.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => end,
    }
}

/// Whether [`write()`] to a path hands the bytes on to what is open or ready there, a pipe, a device or the
/// standard output wherever that goes: it may have no ending to choose a form by, and is not read again.
///
/// ```
/// assert!(!likewise_io::atomic::is_stream("no/such.npy".as_ref()));
/// # #[cfg(unix)]
/// assert!(likewise_io::atomic::is_stream("/dev/null".as_ref()));
/// ```
pub fn is_stream(path: &Path) -> bool {
    matches!(place(path), Ok(Place::Stream(_)))
}

/// Whether a path is a name of this process's standard output, such as `/dev/stdout`, or a link to one; only
/// Unix has any. [`write()`] takes it for that whether the system has such a file or not, and writes where
/// the standard output stands: what others write into it before and after stays. What Rust holds back of
/// it is written first; other buffers, as Python's, are their owners' to empty.
///
/// ```
/// # #[cfg(unix)]
/// assert!(likewise_io::atomic::is_standard_output("/dev/stdout".as_ref()));
/// assert!(!likewise_io::atomic::is_standard_output("stdout".as_ref()));
/// ```
pub fn is_standard_output(path: &Path) -> bool {
    leads_to(path, &STDOUT)
}

const STDOUT: [&str; 4] = [
    "/dev/stdout",
    "/dev/fd/1",
    "/proc/self/fd/1",
    "/proc/thread-self/fd/1",
];
const STDERR: [&str; 4] = [
    "/dev/stderr",
    "/dev/fd/2",
    "/proc/self/fd/2",
    "/proc/thread-self/fd/2",
];

/// Whether a path is a name of the standard output or of the standard error.
fn is_standard_stream(path: &Path) -> bool {
    leads_to(path, &STDOUT) || leads_to(path, &STDERR)
}

/// Whether a path is one of these names, or a link to one.
fn leads_to(path: &Path, names: &[&str]) -> bool {
    let mut end = path.to_owned();
    for _ in 0..LINKS {
        if names.iter().any(|name| end == Path::new(name)) {
            return cfg!(unix);
        }
        match std::fs::read_link(&end) {
            Ok(target) => end = folder_of(&end).join(target),
            Err(_) => return false,
        }
    }
    false
}

/// The standard output or error of this process, where a path is a name of it.
#[cfg(unix)]
fn standard_stream(path: &Path) -> Option<std::io::Result<File>> {
    use std::os::fd::AsFd;
    let open = if leads_to(path, &STDOUT) {
        let mut stdout = std::io::stdout().lock();
        // Where that cannot be, the results cannot be written either, and say so.
        let _ = stdout.flush();
        stdout.as_fd().try_clone_to_owned()
    } else if leads_to(path, &STDERR) {
        std::io::stderr().as_fd().try_clone_to_owned()
    } else {
        return None;
    };
    Some(open.map(File::from))
}

#[cfg(not(unix))]
fn standard_stream(_: &Path) -> Option<std::io::Result<File>> {
    None
}

/// Makes a folder, and those above it, where it is not there. Of a symbolic link the folder
/// that it leads to is made, and the link stays.
///
/// Fails with the path where something else stands there, or nothing may be made.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a/b");
/// likewise_io::atomic::make_folder(&path)?;
/// likewise_io::atomic::make_folder(&path)?;
/// assert!(path.is_dir());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn make_folder(path: &Path) -> Result<()> {
    let make = || {
        if is_standard_stream(path) {
            return Err(no_folder());
        }
        let mut end = path.to_owned();
        for _ in 0..LINKS {
            match std::fs::read_link(&end) {
                Ok(target) => end = folder_of(&end).join(target),
                Err(_) if end.exists() && !end.is_dir() => {
                    return Err(no_folder());
                }
                Err(_) => return Ok(std::fs::create_dir_all(&end)?),
            }
        }
        Err(circle())
    };
    make().map_err(|e| e.within(path.display()))
}

fn no_folder() -> Error {
    Error::parameter("this is a file; name a folder")
}

fn circle() -> Error {
    Error::parameter("a circle of symbolic links; remove it")
}

/// Where the bytes go.
enum Place {
    /// A file, with its links resolved, and what stands there now.
    File(PathBuf, Option<Metadata>),
    /// A pipe, a device, or the standard output or error.
    Stream(PathBuf),
}

fn place(path: &Path) -> Result<Place> {
    if path.file_name().is_none() {
        return Err(Error::parameter(
            "this is not the name of a file; give a file name to write to",
        ));
    }
    if is_standard_stream(path) {
        return Ok(Place::Stream(path.to_owned()));
    }
    let old = match std::fs::metadata(path) {
        Ok(old) => Some(old),
        // It, or what a link leads to, is made.
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e.into()),
    };
    match old.as_ref().and_then(special) {
        None => {}
        Some(Special::Folder) => {
            return Err(Error::parameter(
                "this is a folder; give a file name to write to",
            ));
        }
        // Asked by the path as it was given: the system's names of open pipes are no paths.
        Some(Special::Pipe | Special::Device) => return Ok(Place::Stream(path.to_owned())),
        Some(other @ (Special::Socket | Special::Disk | Special::Other)) => {
            return Err(Error::parameter(format!(
                "this is {other}, not a file; give another name to write to"
            )));
        }
    }
    let mut path = path.to_owned();
    let mut links = 0;
    while let Ok(target) = std::fs::read_link(&path) {
        // An open file of this process or of another: to replace it would leave its owner the old one.
        if of_the_system(&path) {
            return Ok(Place::Stream(path));
        }
        links += 1;
        if links > LINKS {
            return Err(circle());
        }
        path = folder_of(&path).join(target);
    }
    // Root may write to it all the same; who protected it did not mean that.
    if old.as_ref().is_some_and(|m| m.permissions().readonly()) {
        return Err(Error::parameter(
            "the file is write-protected; allow writing to it, or give another name",
        ));
    }
    Ok(Place::File(path, old))
}

/// Whether a link is one of those to open files, such as `/dev/fd/3`.
fn of_the_system(link: &Path) -> bool {
    link.parent() == Some(Path::new("/dev"))
        || link.starts_with("/dev/fd")
        || link.starts_with("/proc")
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn filled(file: File, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 17, file);
    fill(&mut writer)?;
    let file = writer.into_inner();
    Ok(file.map_err(std::io::IntoInnerError::into_error)?)
}

fn replace(
    path: &Path,
    old: Option<&Metadata>,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let folder = folder_of(path);
    part::sweep(folder, path);
    let (file, place) = part::make(folder, path)?;
    // What only its owner could read must not become readable to all. Not every file system
    // has permissions.
    if let Some(old) = old {
        let _ = file.set_permissions(old.permissions());
    }
    let file = filled(file, fill)?;
    file.sync_all()?;
    place.persist(path).map_err(|e| e.error)?;
    // Held so long: no other writer takes it for a leftover.
    drop(file);
    // The new name itself must reach the device too; not every file system can be asked.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Collects the bytes in a file without a name and hands them to a [`Place::Stream`].
fn pass_on(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    // Opened first: who reads a pipe sees its end also where `fill` fails.
    let mut stream = match standard_stream(path) {
        // Not opened anew by its name: of a file behind it, that would be another place to write at than that
        // of others who print into it, and each would go over what the other wrote.
        Some(file) => file?,
        // At the end: a file may stand behind other names of the system (`/dev/fd/3`), and hold something
        // already. Who writes into it later does go over this: its place for others is not moved.
        None => File::options().append(true).open(path)?,
    };
    let temporary =
        tempfile::tempfile().map_err(|e| Error::from(e).within("cannot make a temporary file"))?;
    let mut temporary = filled(temporary, fill)?;
    temporary.rewind()?;
    match hand_on(&mut temporary, &mut stream) {
        // Who reads the standard output has what was wanted of it, as of text: `| head`, `>(head)`.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {
            if is_standard_output(path) || of_the_system(path) {
                return Ok(());
            }
            Err(Error::new(
                crate::ErrorKind::Io,
                "nobody reads this pipe any more; let its reader wait for the end",
            ))
        }
        done => Ok(done?),
    }
}

/// Copies all, also into what does not wait for its reader (`O_NONBLOCK`, which whoever shares the standard
/// output may have set).
fn hand_on(from: &mut File, to: &mut File) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 17];
    loop {
        let mut rest = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(held) => &buffer[..held],
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        while !rest.is_empty() {
            match to.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(PATIENCE),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write(&path, |f| Ok(f.write_all(b"old")?)).unwrap();
        let e = write(&path, |f| {
            f.write_all(&vec![0; 1 << 20])?;
            Err(Error::value("no"))
        })
        .unwrap_err();
        assert_eq!(e.to_string(), format!("{}: no", path.display()));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.bin"]);
        write(&path, |f| Ok(f.write_all(b"new")?)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn bad_places_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), |_| Ok(())).is_err());
        let e = write(folder.path().join("no/such.npy"), |_| Ok(())).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::NotFound);
        assert!(write("", |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_result_is_readable_like_any_other_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, b"").unwrap();
        let path = folder.path().join("a");
        write(&path, |_| Ok(())).unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }

    #[cfg(unix)]
    mod special {
        use std::io::Read;
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

        use super::*;

        fn note(path: &Path, text: &str) -> Result<()> {
            write(path, |f| Ok(f.write_all(text.as_bytes())?))
        }

        fn text(path: &Path) -> String {
            std::fs::read_to_string(path).unwrap()
        }

        #[test]
        fn a_device_gets_the_bytes_and_stays() {
            note(Path::new("/dev/null"), "gone").unwrap();
            let kind = std::fs::metadata("/dev/null").unwrap().file_type();
            assert!(kind.is_char_device());
            let folder = tempfile::tempdir().unwrap();
            let link = folder.path().join("link");
            symlink("/dev/null", &link).unwrap();
            note(&link, "gone").unwrap();
            assert_eq!(names(folder.path()), ["link"]);
        }

        #[test]
        fn a_full_device_is_one_clear_message() {
            let full = Path::new("/dev/full");
            if !full.exists() {
                println!("there is no /dev/full here");
                return;
            }
            let said = note(full, "too much").unwrap_err().to_string();
            assert!(said.starts_with("/dev/full: No space left"), "{said}");
            assert!(said.contains("make room"), "{said}");
        }

        #[test]
        fn a_pipe_gets_the_bytes_and_stays() {
            let folder = tempfile::tempdir().unwrap();
            let pipe = folder.path().join("pipe.npy");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            if !made.is_ok_and(|status| status.success()) {
                println!("there is no mkfifo here");
                return;
            }
            let from = pipe.clone();
            let reader = std::thread::spawn(move || {
                let mut bytes = Vec::new();
                File::open(from).unwrap().read_to_end(&mut bytes).unwrap();
                bytes
            });
            // A writer that seeks: pipes cannot, so it goes by way of a file.
            write(&pipe, |f| {
                f.write_all(b"x-done")?;
                f.seek(std::io::SeekFrom::Start(0))?;
                Ok(f.write_all(b"we")?)
            })
            .unwrap();
            assert_eq!(reader.join().unwrap(), b"wedone");
            assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
            assert_eq!(names(folder.path()), ["pipe.npy"]);
        }

        #[test]
        fn the_target_of_links_is_written_and_they_stay() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            std::fs::create_dir(at("sub")).unwrap();
            std::fs::write(at("sub/target"), "old").unwrap();
            symlink("sub/second", at("first")).unwrap();
            symlink("target", at("sub/second")).unwrap();
            note(&at("first"), "new").unwrap();
            assert_eq!(text(&at("sub/target")), "new");
            for link in ["first", "sub/second"] {
                assert!(at(link).is_symlink(), "{link}");
            }
            symlink("sub/none", at("dangling")).unwrap();
            note(&at("dangling"), "made").unwrap();
            assert_eq!(text(&at("sub/none")), "made");
            assert!(at("dangling").is_symlink());
            symlink("round", at("round")).unwrap();
            assert!(note(&at("round"), "").is_err());
            let said = make_folder(&at("round")).unwrap_err().to_string();
            assert!(said.contains("circle"), "{said}");
            symlink("sub/new", at("to come")).unwrap();
            make_folder(&at("to come")).unwrap();
            assert!(at("sub/new").is_dir() && at("to come").is_symlink());
            let said = make_folder(&at("first")).unwrap_err().to_string();
            assert!(said.contains("this is a file"), "{said}");
            symlink("sub", at("folder")).unwrap();
            let said = note(&at("folder"), "").unwrap_err().to_string();
            assert!(said.contains("a folder"), "{said}");
        }

        #[test]
        fn permissions_are_respected_and_kept() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            let mode = |mode| {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(&path, mode).unwrap();
            };
            std::fs::write(&path, "old").unwrap();
            mode(0o444);
            // Root too: the bits count, not what the system would allow.
            let said = note(&path, "new").unwrap_err().to_string();
            assert!(said.contains("write-protected"), "{said}");
            assert_eq!(text(&path), "old");
            mode(0o600);
            note(&path, "new").unwrap();
            let kept = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!((text(&path).as_str(), kept & 0o777), ("new", 0o600));
        }

        #[test]
        fn a_socket_is_refused() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s");
            let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
            let said = note(&path, "").unwrap_err().to_string();
            assert!(said.contains("a socket"), "{said}");
            drop(socket);
        }

        #[test]
        fn the_same_file_is_known_by_any_name() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            std::fs::write(at("a"), "").unwrap();
            std::fs::write(at("b"), "").unwrap();
            symlink("a", at("soft")).unwrap();
            std::fs::hard_link(at("a"), at("hard")).unwrap();
            for same in ["a", "soft", "hard"] {
                assert!(same_file(&at("a"), &at(same)), "{same}");
            }
            assert!(!same_file(&at("a"), &at("b")));
            assert!(!same_file(&at("none"), &at("none")));
        }

        #[test]
        fn the_same_place_is_known_before_there_is_a_file() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            std::fs::create_dir(at("sub")).unwrap();
            symlink("sub", at("linked")).unwrap();
            symlink("sub/new", at("dangling")).unwrap();
            for same in [
                "sub/new",
                "./sub/new",
                "sub/../sub/new",
                "linked/new",
                "dangling",
            ] {
                assert!(same_place(&at("sub/new"), &at(same)), "{same}");
            }
            for other in ["new", "sub/other", "no such folder/new"] {
                assert!(!same_place(&at("sub/new"), &at(other)), "{other}");
            }
            std::fs::write(at("sub/new"), "").unwrap();
            std::fs::hard_link(at("sub/new"), at("hard")).unwrap();
            assert!(same_place(&at("sub/new"), &at("hard")));
            symlink("round", at("round")).unwrap();
            assert!(!same_place(&at("round"), &at("sub/new")));
        }
    }
}

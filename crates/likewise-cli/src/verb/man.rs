//! `likewise man`

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;
use likewise_io::atomic;
use likewise_study::run_folder::{RunFolder, check_output};
use likewise_terminal::Failure;

use crate::args::{Cli, Man};

pub(crate) fn run(args: &Man) -> Result<(), Failure> {
    let out = &args.out;
    if RunFolder::is_meant(out) || RunFolder::has_lost_its_record(out) {
        return Err(Failure::usage(format!(
            "{}: this is the folder of a run; name another folder",
            out.display()
        )));
    }
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    render(&command, &mut pages)?;
    for (name, _) in &pages {
        check(&out.join(name))?;
    }
    let is_new = !out.exists();
    atomic::make_folder(out)?;
    let written = pages.iter().try_for_each(|(name, page)| {
        atomic::write(out.join(name), |file| Ok(file.write_all(page)?))
    });
    if written.is_err() && is_new {
        for (name, _) in &pages {
            let _ = std::fs::remove_file(out.join(name));
        }
        let _ = std::fs::remove_dir(atomic::resolved(out));
    }
    Ok(written?)
}

/// The pages of a command and of those below it, by the names of their files.
fn render(command: &Command, pages: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        render(below, pages)?;
    }
    let page = Page::new(command.clone());
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    pages.push((page.get_filename().into(), bytes));
    Ok(())
}

/// Fails where anything but a file stands at the name of a page. Nobody chose the names: a link would be
/// written through, and a pipe waited for.
fn check(page: &Path) -> Result<(), Failure> {
    check_output(Some(page), &[])?;
    match std::fs::symlink_metadata(page) {
        Ok(there) if !there.is_file() => Err(Failure::usage(format!(
            "{}: not a file, and in the place of a page; take it away, or name another folder",
            page.display()
        ))),
        _ => Ok(()),
    }
}

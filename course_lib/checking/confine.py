"""What Linux is asked to keep from a process that runs an answer: other processes, the network, files that are not its own.

Each function asks for one thing, and none needs another: where the system refuses one (a container without user namespaces,
a kernel without Landlock), it returns False and the others still hold.

`close_off` does all that a zygote can have done to it, `give_up` all that is left to be done to a worker.

Not here: limits on time and memory (`worker.py`), and what an answer can do within its own process (`shield.py`).
Sources: user_namespaces(7), pid_namespaces(7), mount_setattr(2), landlock(7), capabilities(7), prctl(2), seccomp(2); for
numbers, <linux/sched.h>, <linux/mount.h>, <linux/landlock.h>, <linux/prctl.h>, <linux/seccomp.h>, <linux/audit.h>,
<asm/unistd.h>.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 442, 444, 445, 446  # on every machine type


def _granted(function: str, *arguments: Any) -> bool:
    """Call a function of the C library that returns 0 for success."""
    call = getattr(ctypes.CDLL(None), function, None)
    return call is not None and call(*arguments) == 0


def close_off(writable: Iterable[Path], most_tasks: int, view: View | None = None) -> bool:
    """Give this process and its children as little of the system as it lets us, but `writable` to write in.

    With a view, what it hides cannot be seen any more. Returns whether mounts made from now on are seen nowhere else. Needs a
    process without threads.
    """
    with contextlib.suppress(OSError):
        # Should memory run out, the kernel ends this before the learner's notebook, but not before what has eaten it all.
        Path("/proc/self/oom_score_adj").write_text("300")
    if own_user():
        limit(resource.RLIMIT_NPROC, most_tasks)  # counted within the namespace
    unshare(CLONE_NEWNET)
    alone = own_mounts()
    if alone:
        if view:
            cover(view)
        read_only_except(writable)
    return alone


def give_up(folders: Iterable[Path], files: Iterable[Path], readable: Iterable[Path] | None = None) -> None:
    """Give up every right that an answer has no use for; see `landlock` for the arguments."""
    unshare(CLONE_NEWIPC)
    keep_out_others(False)
    drop_capabilities()
    landlock(folders, files, readable)
    no_connections()


@dataclass(frozen=True)
class View:
    """What of the files is to be seen: all but these folders and what is in them, of which some may be shown all the same.

    Of two that contain each other, the inner one counts. All paths are absolute, and none goes through a link.
    """

    hidden: frozenset[Path]
    shown: frozenset[Path]

    def sees(self, path: Path) -> bool:
        """Whether a path is to be seen.

        >>> view = View(frozenset({Path("/home"), Path("/home/me/course/class")}), frozenset({Path("/home/me/course")}))
        >>> [view.sees(Path(path)) for path in ("/usr", "/home/you", "/home/me/course/a.py", "/home/me/course/class/b.py")]
        [True, False, True, False]
        """
        marked = next((one for one in (path, *path.parents) if one in self.hidden or one in self.shown), None)
        return marked is None or marked in self.shown

    def whole(self) -> Iterator[Path]:
        """The largest folders, and the files beside them, all of which is to be seen; as they are now."""
        yield from self._whole(Path("/"))

    def _whole(self, folder: Path) -> Iterator[Path]:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:  # one that cannot be listed shows nothing
            for path in (Path(entry) for entry in entries if not entry.is_symlink()):  # what a link leads to is met elsewhere
                seen = self.sees(path)
                if any(path in one.parents for one in (self.hidden if seen else self.shown)):
                    yield from self._whole(path)
                elif seen:
                    yield path


# --- namespaces ---------------------------------------------------------------------------------------------------


def unshare(kind: int) -> bool:
    """Give this process (for `CLONE_NEWPID`: its future children) a namespace of its own."""
    return _granted("unshare", kind)


def own_user() -> bool:
    """A user namespace: the user stays the same, gets a root's rights over the namespaces made next, and over nothing else.

    A process in it cannot trace, and so neither read nor change, a process outside.
    """
    user, group = os.getuid(), os.getgid()
    if not unshare(CLONE_NEWUSER):
        return False
    with contextlib.suppress(OSError):
        for name, content in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(content)
    return True


MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 18
MNT_DETACH, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 2, 0x8000, 1


def own_mounts() -> bool:
    """A mount namespace: what is mounted from now on shows nowhere else."""
    return unshare(CLONE_NEWNS) and _granted("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)


def read_only_except(writable: Iterable[Path]) -> bool:
    """Let files be changed in these folders only; for a process with mounts of its own."""
    folders = [os.fsencode(folder) for folder in writable if folder.is_dir()]
    bound = [folder for folder in folders if _granted("mount", folder, folder, None, MS_BIND | MS_REC, None)]
    everything = _set_mount(b"/", AT_RECURSIVE, struct.pack("=4Q", MOUNT_ATTR_RDONLY, 0, 0, 0))
    return everything and all(_set_mount(folder, 0, struct.pack("=4Q", 0, MOUNT_ATTR_RDONLY, 0, 0)) for folder in bound)


def cover(view: View) -> bool:
    """Lay an empty folder over each that is hidden, with what is shown of it; for a process with mounts of its own."""
    done = True
    for folder in sorted(filter(Path.is_dir, view.hidden), key=lambda path: len(path.parts)):
        inside = [path for path in view.shown if folder in path.parents and path.exists()]
        kept = [(path, path.is_dir(), os.open(path, os.O_PATH)) for path in sorted(inside)]
        done &= _granted("mount", b"none", os.fsencode(folder), b"tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, b"size=1m,mode=755")
        for path, is_folder, place in kept:
            if not path.exists():  # else it came along with another one
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir() if is_folder else path.touch()
                bound = b"/proc/self/fd/%d" % place
                done &= _granted("mount", bound, os.fsencode(path), None, MS_BIND | MS_REC, None)
            os.close(place)
    return done


def let_go(folder: Path) -> bool:
    """Undo what `read_only_except` did to a folder, which could not be removed otherwise."""
    return _granted("umount2", os.fsencode(folder), MNT_DETACH)


def _set_mount(path: bytes, flags: int, attributes: bytes) -> bool:
    here = -100  # AT_FDCWD
    return _granted("syscall", SYS_MOUNT_SETATTR, here, path, flags, attributes, ctypes.c_size_t(len(attributes)))


def own_proc() -> bool:
    """Let /proc show this pid namespace only; for its first process, if it has mounts of its own.

    Settings of the whole system stay read-only. The rest does not: CUDA writes the names of its threads there.
    """
    if not _granted("mount", b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None):
        return False
    for settings in (b"/proc/sys", b"/proc/sysrq-trigger", b"/proc/irq"):
        if _granted("mount", settings, settings, None, MS_BIND, None):
            _set_mount(settings, 0, struct.pack("=4Q", MOUNT_ATTR_RDONLY, 0, 0, 0))
    return True


# --- files, signals and sockets, by Landlock --------------------------------------------------------------------------

WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG, REFER = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 13
MAKE_OTHERS = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12  # devices, sockets, pipes, symbolic links
IN_FOLDER = WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER
TCP = 1 << 0 | 1 << 1  # to listen, to connect
OUTSIDE = 1 << 0 | 1 << 1  # abstract sockets and signals of processes outside
LANDLOCK_RULE_PATH_BENEATH = 1


def landlock(folders: Iterable[Path], files: Iterable[Path], readable: Iterable[Path] | None = None) -> bool:
    """From now on let this process change files in `folders` only, write to `files`, and trace nobody but its children.

    With `readable`, it reads nothing but these files, and what is in these folders. Newer kernels also keep it from TCP, and
    from sending signals to others.
    """
    syscall = ctypes.CDLL(None).syscall
    version = syscall(SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    newer = (REFER if version < 2 else 0) | (TRUNCATE if version < 3 else 0)
    reading = 0 if readable is None else READ_FILE | READ_DIR
    handled = (IN_FOLDER | MAKE_OTHERS) & ~newer | reading
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = syscall(SYS_LANDLOCK_CREATE, struct.pack("=3Q", handled, TCP, OUTSIDE), ctypes.c_size_t(size), 0)
    if rules < 0:
        return False
    of_files = WRITE_FILE | READ_FILE | TRUNCATE
    for paths, rights in ((folders, IN_FOLDER), (files, WRITE_FILE | TRUNCATE), (readable or (), reading)):
        for path in paths:
            with contextlib.suppress(OSError):
                place = os.open(path, os.O_PATH)
                fitting = rights & handled & (-1 if path.is_dir() else of_files)
                syscall(SYS_LANDLOCK_ADD, rules, LANDLOCK_RULE_PATH_BENEATH, struct.pack("=Qi", fitting, place), 0)
                os.close(place)
    held = no_new_privileges() and syscall(SYS_LANDLOCK_RESTRICT, rules, 0) == 0
    os.close(rules)
    return held


# --- connections, by seccomp ------------------------------------------------------------------------------------------

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of a filter (classic BPF)
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # where in `struct seccomp_data`
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
AF_UNIX, SYS_IO_URING_SETUP, X32 = 1, 425, 0x40000000  # from X32 on, calls by their numbers in x86's third convention
CALLS = {"x86_64": (0xC000003E, 41, 42), "aarch64": (0xC00000B7, 198, 203)}
"""By machine type: its AUDIT_ARCH, and the numbers of `socket` and `connect`."""


def no_connections() -> bool:
    """From now on let this process connect to nothing, and make no sockets but local ones (CUDA makes some).

    A namespace without a network still holds the local sockets that have a path: of a container engine, of a cluster's node.
    """
    if platform.machine() not in CALLS:
        return False
    architecture, socket, connect = CALLS[platform.machine()]
    instructions = (  # a jump goes so many instructions further if true, if false
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 0, 7, architecture),
        (LOAD, 0, 0, NUMBER),
        (IF_AT_LEAST, 5, 0, X32),
        (IF_EQUAL, 4, 0, connect),
        (IF_EQUAL, 3, 0, SYS_IO_URING_SETUP),  # would make the same calls unseen
        (IF_EQUAL, 0, 3, socket),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (IF_EQUAL, 1, 0, AF_UNIX),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions))
    program = struct.pack("@HP", len(instructions), ctypes.addressof(code))
    return no_new_privileges() and _granted("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)


# --- this process ---------------------------------------------------------------------------------------------------

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
CAPABILITY_VERSION = 0x20080522


def no_new_privileges() -> bool:
    """Let no program that this process starts have rights that this process has not."""
    return _granted("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def drop_capabilities() -> bool:
    """Give up all of a root's rights, for good."""
    return no_new_privileges() and _granted("capset", struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24))


def adopt_orphans() -> bool:
    """Become the parent of descendants whose parents end."""
    return _granted("prctl", PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(signal_number: int = signal.SIGKILL) -> bool:
    """Let the kernel send this process a signal when the one that forked it ends."""
    return _granted("prctl", PR_SET_PDEATHSIG, signal_number)


def limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Set a limit of `resource`, or keep a lower one that there is already."""
    most = resource.getrlimit(kind)[1]
    numbers = [soft, soft if hard is None else hard]
    lowest = [number if most == resource.RLIM_INFINITY else min(number, most) for number in numbers]
    resource.setrlimit(kind, (lowest[0], lowest[1]))


def keep_out_others(yes: bool) -> bool:
    """Whether no other process of this user may trace this one."""
    return _granted("prctl", PR_SET_DUMPABLE, 0 if yes else 1, 0, 0, 0)

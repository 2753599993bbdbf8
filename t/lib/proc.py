# SPDX-License-Identifier: Apache-2.0
"""What /proc says about processes and sockets."""
import os
import re


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = stat(int(name))
            if fields and int(fields[1]) == pid and fields[0] not in "ZX":
                found.append(int(name))
    return sorted(found)


def stat(pid):
    """The fields of /proc/PID/stat from the state on, or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def alive(pid):
    fields = stat(pid)
    return fields is not None and fields[0] not in "ZX"


def threads(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def cpu_seconds(pid):
    fields = stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def socket_owners(pids):
    """{socket inode: pid} over the descriptors of `pids`."""
    owners = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            match = re.fullmatch(r"socket:\[(\d+)\]", target)
            if match:
                owners[int(match[1])] = pid
    return owners


def _tcp():
    """(local port, remote port, state, inode) of all TCP sockets."""
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path, encoding="ascii") as file:
                lines = file.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            parts = line.split()
            yield (int(parts[1].rpartition(":")[2], 16), int(parts[2].rpartition(":")[2], 16),
                   parts[3], int(parts[9]))


def tcp_connections(server_port):
    """{client port: inode of the server's socket} of established connections to a port."""
    return {remote: inode for local, remote, state, inode in _tcp()
            if state == "01" and local == server_port}


def tcp_own(server_port):
    """Client ports of this process's own established connections to a port."""
    own = socket_owners([os.getpid()])
    return {local for local, remote, state, inode in _tcp()
            if state == "01" and remote == server_port and inode in own}


def listeners(port):
    """Inodes of the sockets that listen on a TCP port."""
    return [inode for local, _, state, inode in _tcp() if state == "0A" and local == port]

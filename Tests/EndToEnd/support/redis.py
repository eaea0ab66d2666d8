# SPDX-License-Identifier: Apache-2.0
"""Real Redis servers: one, a cluster, and sentinels with what they watch."""

import os
import subprocess

from .processes import Process, eventually, free_port


class Redis:
    """A real Redis server without a file, unless options ask for one."""
    def __init__(self, folder, *options):
        self.folder, self.options, self.port, self.process = folder, options, free_port(), None

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [
            "redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--dir", self.folder, *self.options
        ]
        self.process = Process(command, self.folder, "redis")
        self.process.wait_listening(self.port)
        return self

    def stop(self):
        self.process.stop()

    def kill(self):
        """Ends it as a crash does."""
        self.process.child.kill()
        self.process.child.wait()

    def end(self):
        """Ends it in whatever state it is."""
        if self.process and self.process.child.poll() is None:
            self.kill()

    def signal(self, number):
        os.kill(self.process.pid, number)

    def run(self, *words, then=()):
        """The lines of the reply to a command, and to another one on the same connection."""
        lines = "".join(" ".join(map(str, command)) + "\n" for command in (words, then) if command)
        command = ["redis-cli", "-p", str(self.port), "--raw"]
        # Sealed sessions are not UTF-8.
        result = subprocess.run(command, input=lines, capture_output=True, encoding="latin-1", timeout=10)
        if result.returncode:
            raise OSError(f"{words}: {result.stdout}{result.stderr}")
        return result.stdout.splitlines()

    def is_master(self):
        return self.run("ROLE")[:1] == ["master"]

    def is_replicated(self):
        """Whether the replicas of a master have everything, or a replica is connected to its master."""
        fields = dict(line.partition(":")[::2] for line in self.run("INFO", "replication"))
        # A server that changes its role closes its connections; then there is no reply.
        if fields.get("role") != "master":
            return fields.get("master_link_status") == "up"
        count = int(fields["connected_slaves"])
        return count > 0 and self.run("PING", then=("WAIT", count, 1000)) == ["PONG", str(count)]


#: What docs/sessions.md recommends for sessions, without a delay before a replica gets its first copy.
DURABLE = (
    "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0"
)


class Cluster:
    """Three masters with a third of the slots each, and a replica of each."""
    def __init__(self, folder):
        self.nodes = []
        for number in range(6):
            options = (
                "--cluster-enabled", "yes", "--cluster-port", free_port(), "--cluster-node-timeout", "1000",
                "--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no", *DURABLE
            )
            self.nodes.append(Redis(folder / f"node-{number}", *options))

    @property
    def url(self):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[:3])

    def start(self):
        for node in self.nodes:
            node.start()
        masters, replicas = self.nodes[:3], self.nodes[3:]
        for number, master in enumerate(masters):
            master.run("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            end = 16_383 if number == 2 else 5461 * (number + 1) - 1
            master.run("CLUSTER", "ADDSLOTSRANGE", 5461 * number, end)
        for node in self.nodes[1:]:
            # The option is that of the bus.
            node_bus = node.options[node.options.index("--cluster-port") + 1]
            masters[0].run("CLUSTER", "MEET", "127.0.0.1", node.port, node_bus)
        ids = [master.run("CLUSTER", "MYID")[0] for master in masters]
        for master, replica in zip(ids, replicas):
            eventually(lambda: replica.run("CLUSTER", "REPLICATE", master) == ["OK"], "the nodes know each other", 20)
        self.wait_healthy()
        return self

    def wait_healthy(self):
        """Waits until each node knows six nodes that work, and each master has a replica with all data."""
        def healthy():
            for node in self.nodes:
                nodes = node.run("CLUSTER", "NODES")
                if len(nodes) != 6 or any("fail" in line.split()[2] for line in nodes):
                    return False
                if "cluster_state:ok" not in node.run("CLUSTER", "INFO") or not node.is_replicated():
                    return False
            return sum(node.is_master() for node in self.nodes) == 3

        eventually(healthy, "the cluster is healthy", 30)

    def end(self):
        for node in self.nodes:
            node.end()


class Sentinels:
    """A master with two replicas, and three sentinels.

    A sentinel takes part of a second to see a promotion. Within four publish periods another one demotes the promoted
    replica again, since it knows nothing of a fail-over that the first one was asked for.
    """
    def __init__(self, folder, publish_period=100, failover_timeout=1500):
        self.folder, self.publish_period, self.failover_timeout = folder, publish_period, failover_timeout
        # Short, so that a test need not wait for the seconds that a replica usually takes.
        options = (*DURABLE, "--repl-ping-replica-period", "1", "--min-replicas-to-write", "1")
        self.nodes = [Redis(folder / f"node-{number}", *options) for number in range(3)]
        self.sentinels = []

    @property
    def url(self):
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/main"

    def start(self):
        master = self.nodes[0].start()
        for node in self.nodes[1:]:
            node.options += ("--replicaof", "127.0.0.1", master.port)
            node.start()
        for number in range(3):
            place = self.folder / f"sentinel-{number}"
            place.mkdir()
            path = place / "sentinel.conf"
            path.write_text(
                f"sentinel monitor main 127.0.0.1 {master.port} 2\nsentinel down-after-milliseconds main 1000\n"
                f"sentinel failover-timeout main {self.failover_timeout}\nsentinel parallel-syncs main 2\n"
            )
            sentinel = Redis(place)
            sentinel.process = Process(
                ["redis-server", path, "--sentinel", "--port", sentinel.port, "--bind", "127.0.0.1", "--dir", place],
                place, "sentinel"
            )
            sentinel.process.wait_listening(sentinel.port)
            # Shorter than the seconds of a real one. A replica whose reply is older than five pings is not chosen, so not
            # shorter than a busy machine allows.
            periods = (
                ("INFO-PERIOD", 100), ("PING-PERIOD", 400), ("ASK-PERIOD", 100), ("PUBLISH-PERIOD", self.publish_period)
            )
            sentinel.run("SENTINEL", "DEBUG", *(word for period in periods for word in period))
            self.sentinels.append(sentinel)
        self.wait_healthy()
        return self

    def master(self):
        """The node that is the master now, or None."""
        return next((node for node in self.nodes if node.process.child.poll() is None and node.is_master()), None)

    def wait_healthy(self):
        """Waits until all sentinels know each other and two replicas that work, and these have all data."""
        def healthy():
            for sentinel in self.sentinels:
                lines = sentinel.run("SENTINEL", "MASTER", "main")
                fields = dict(zip(lines[::2], lines[1::2]))
                if fields["num-other-sentinels"] != "2" or fields["num-slaves"] != "2" or fields["flags"] != "master":
                    return False
            return all(node.is_replicated() for node in self.nodes)

        eventually(healthy, "the sentinels know each other and the replicas", 30)

    def end(self):
        for node in [*self.sentinels, *self.nodes]:
            node.end()

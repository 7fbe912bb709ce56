#!/usr/bin/env python3
"""Makes the three sessions of this folder: invented nodes as copied trees, watched with `railscope record`.

    tests/blind/nodes.py target/debug/railscope

Each node has one fault, and something beside it that is none. What one has to find is in answers.json.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
STEPS = 12


class Node:
    """A host of two sockets, whose rails, processes and counters are added one by one."""

    def __init__(self, name, cpus=64, memory_gib=512):
        self.files, self.links, self.queue_pairs = {}, {}, []
        self.steps = [{} for _ in range(STEPS)]
        self.rails = 0
        half = cpus // 2
        for node, (first, last, distances) in enumerate([(0, half - 1, "10 21"), (half, cpus - 1, "21 10")]):
            here = f"sys/devices/system/node/node{node}"
            self.put(f"{here}/cpulist", f"{first}-{last}")
            self.put(f"{here}/distance", distances)
            kib = memory_gib << 20
            self.put(f"{here}/meminfo", f"Node {node} MemTotal: {kib} kB\nNode {node} MemFree: {kib // 2} kB")
        for cpu in range(cpus):
            here = f"sys/devices/system/cpu/cpu{cpu}/topology"
            self.put(f"{here}/physical_package_id", cpu // half)
            self.put(f"{here}/thread_siblings_list", cpu)
        self.put("sys/devices/system/cpu/online", f"0-{cpus - 1}")
        self.put("sys/devices/system/node/online", "0-1")
        self.put("proc/sys/kernel/hostname", name)
        self.put("proc/sys/kernel/osrelease", "5.15.0-118-generic")
        self.put("proc/sys/kernel/numa_balancing", 0)
        self.put("proc/self/limits", "Limit Soft Limit Hard Limit Units\nMax locked memory unlimited unlimited bytes")
        self.put("proc/meminfo", f"MemTotal: {memory_gib << 21} kB")
        self.put("sys/class/infiniband_verbs/abi_version", 6)
        self.put("captured/rdma-res-qp.json", "")

    def put(self, path, text):
        self.files[path] = f"{text}\n"

    def function(self, path, node, ids, now, most):
        """A PCI function with its link, speed in GT/s and lanes."""
        for name, value in [
            ("vendor", ids[0]), ("device", ids[1]), ("class", ids[2]), ("numa_node", node), ("enable", 1),
            ("current_link_speed", f"{now[0]} GT/s PCIe"), ("current_link_width", now[1]),
            ("max_link_speed", f"{most[0]} GT/s PCIe"), ("max_link_width", most[1]),
        ]:
            self.put(f"{path}/{name}", value)
        self.links[f"sys/bus/pci/devices/{path.rsplit('/', 1)[1]}"] = f"../../../../{path}"

    def rail(self, device, node, gbit, lanes=16, legs=(), rate=0.0, jitter=0.0):
        """A card in a Gen5 x16 slot below a root port of its own; `rate` is what it reads, in GB/s, and `legs` are the
        shares of its bond's two ports."""
        at, self.rails = self.rails, self.rails + 1
        bus = 0x10 + 0x10 * at
        port = f"sys/devices/pci0000:{bus:02x}/0000:{bus:02x}:01.0"
        card = f"{port}/0000:{bus + 1:02x}:00.0"
        self.function(port, node, ("0x8086", "0x352a", "0x060400"), ("32.0", lanes), ("32.0", 16))
        self.function(card, node, ("0x15b3", "0x1021", "0x020700" if not legs else "0x020000"),
                      ("32.0", lanes), ("32.0", 16))
        here = f"{card}/infiniband/{device}"
        guid = f"aa00:0000:0000:{at + 1:04x}"
        for name, value in [
            ("fw_ver", "28.39.2048"), ("hca_type", "MT4129"), ("board_id", "MT_0000000838"), ("node_type", "1: CA"),
            ("node_guid", guid), ("sys_image_guid", guid),
            ("ports/1/state", "4: ACTIVE"), ("ports/1/phys_state", "5: LinkUp"), ("ports/1/link_layer", "Ethernet"),
            ("ports/1/lid", "0x0"), ("ports/1/counters/port_xmit_data", 10**9),
            ("ports/1/rate", f"{gbit} Gb/sec ({gbit // 100}X NDR)"),
            ("ports/1/gids/3", f"0000:0000:0000:0000:0000:ffff:c612:{at + 1:02x}0a"),
            ("ports/1/gid_attrs/types/3", "RoCE v2"),
            ("ports/1/gid_attrs/ndevs/3", f"bond{at}" if legs else f"ens{at}np0"),
        ]:
            self.put(f"{here}/{name}", value)
        self.links[f"{here}/device"] = "../.."
        self.links[f"sys/class/infiniband/{device}"] = f"../../../{here}"
        self.put(f"dev/infiniband/uverbs{at}", "")
        verbs = f"{card}/infiniband_verbs/uverbs{at}"
        self.put(f"{verbs}/ibdev", device)
        self.put(f"{verbs}/abi_version", 1)
        self.links[f"sys/class/infiniband_verbs/uverbs{at}"] = f"../../../{verbs}"
        if legs:
            self.bond(at, card, gbit)
        else:
            self.netdev(card, f"ens{at}np0", at, gbit)
        for step, changes in enumerate(self.steps):
            # what a rail moved by the beginning of a step is the sum of what it moved in each before
            moved = sum(rate * (1 + jitter * ((k * 7 + at * 3) % 5 - 2) / 2) for k in range(step)) * 1e9
            counters = f"sys/class/infiniband/{device}/ports/1/counters"
            changes[f"{counters}/port_rcv_data"] = f"{int((4e12 + moved) / 4)}\n"
            changes[f"{counters}/port_rcv_packets"] = f"{int((4e12 + moved) / 4160)}\n"
            for leg, share in enumerate(legs):
                received = int(2e12 + moved * share)
                changes[f"captured/ethtool-S/ens{at}f{leg}np{leg}"] = (
                    f"NIC statistics:\n     rx_bytes_phy: {received * 102 // 100}\n"
                    f"     rx_vport_rdma_unicast_bytes: {received}\n"
                    f"     tx_vport_rdma_unicast_bytes: 1000000000\n"
                )

    def netdev(self, function, name, index, gbit, more=()):
        here = f"{function}/net/{name}"
        for key, value in [
            ("operstate", "up"), ("carrier", 1), ("mtu", 4200), ("speed", gbit * 1000), ("ifindex", index + 2),
            ("type", 1), ("address", f"02:00:00:00:{index:02x}:00"), *more,
        ]:
            self.put(f"{here}/{key}", value)
        self.links[f"sys/class/net/{name}"] = f"../../../{here}"
        if "pci" in function:
            self.links[f"{here}/device"] = "../.."

    def bond(self, at, card, gbit):
        master = f"sys/devices/virtual/net/bond{at}"
        self.netdev("sys/devices/virtual", f"bond{at}", 100 + at, 2 * gbit, [
            ("bonding/mode", "802.3ad 4"), ("bonding/xmit_hash_policy", "layer3+4 1"),
            ("bonding/slaves", f"ens{at}f0np0 ens{at}f1np1"), ("bonding/mii_status", "up"),
            ("bonding/ad_aggregator", 1),
        ])
        for leg in (0, 1):
            name = f"ens{at}f{leg}np{leg}"
            function = card[:-1] + str(leg)
            if leg:
                self.function(function, self.files[f"{card}/numa_node"].strip(), ("0x15b3", "0x1021", "0x020000"),
                              ("32.0", 16), ("32.0", 16))
            self.netdev(function, name, at + 20 * leg, gbit, [
                ("bonding_slave/state", "active"), ("bonding_slave/mii_status", "up"),
                ("bonding_slave/ad_aggregator_id", 1), ("bonding_slave/link_failure_count", 0),
                ("bonding_slave/ad_actor_oper_port_state", 63), ("bonding_slave/ad_partner_oper_port_state", 63),
            ])
            self.links[f"{function}/net/{name}/master"] = f"../../../../../../{master[4:]}"

    def process(self, pid, name, queue_pairs, cpus, memory, last_cpu, rank=None):
        """A process with so many queue pairs on each device; its large memory is on `memory`."""
        for device, count in queue_pairs.items():
            self.queue_pairs += [
                {"ifname": device, "port": 1, "lqpn": 200 + pid % 100 + n, "type": "RC", "state": "RTS", "pid": pid,
                 "comm": name} for n in range(count)
            ]
        here = f"proc/{pid}"
        lists = f"Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1"
        stat = f"{pid} ({name}) S 1" + " 0" * 9 + " 900 0 0 0 20 0 1 0 5" + " 0" * 16 + f" {last_cpu} 0 0"
        for path in (here, f"{here}/task/{pid}"):
            self.put(f"{path}/comm", name)
            self.put(f"{path}/status", f"Name:\t{name}\nPid:\t{pid}\nPPid:\t1\nVmRSS:\t 9000000 kB\n{lists}")
            self.put(f"{path}/stat", stat)
        self.put(f"{here}/cmdline", name)
        pages = 2048
        self.put(f"{here}/numa_maps", f"7f1000000000 default anon={pages} dirty={pages} N{memory}={pages} kernelpagesize_kB=2048")
        if rank is not None:
            self.files[f"{here}/environ"] = f"RANK={rank}\0MASTER_ADDR=gpu-0417\0MASTER_PORT=29500\0"

    def load(self, **what):
        self.put("captured/load.json", json.dumps(what))

    def record(self, railscope, session):
        self.put("captured/rdma-res-qp.json", json.dumps(self.queue_pairs))
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder, "tree")
            for path, text in self.files.items():
                tree.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
                tree.joinpath(path).write_text(text)
            for path, to in self.links.items():
                tree.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
                tree.joinpath(path).symlink_to(to)
            steps = pathlib.Path(folder, "steps.json")
            steps.write_text(json.dumps({"interval_s": 1.0, "steps": self.steps}))
            session.unlink(missing_ok=True)
            subprocess.run([railscope, "record", session, "--root", tree, "--steps", steps, "--headless",
                            "--fail-on", "never"], check=True, stdout=subprocess.DEVNULL)


def a_rank_on_the_wrong_socket():
    node = Node("gpu-0417")
    for at in range(8):
        slow = at == 6
        node.rail(f"mlx5_{at}", at // 4, 400, rate=21.3 if slow else 45.2, jitter=0.02)
        where = at // 4 if not slow else 0
        cpus = f"{8 * at}-{8 * at + 7}" if not slow else "24-31"
        node.process(51200 + at, "train.py", {f"mlx5_{at}": 4}, cpus, where, 8 * at if not slow else 25, rank=at)
    return node


def all_of_it_over_one_leg():
    node = Node("kv-03")
    # bond 1 carries little, because little is asked of it
    for at, (rate, legs) in enumerate([(43.9, (0.5, 0.5)), (6.1, (0.55, 0.45)), (24.3, (0.0, 1.0)), (44.4, (0.48, 0.52))]):
        node.rail(f"mlx5_bond_{at}", at // 2, 200, legs=legs, rate=rate, jitter=0.02)
    for pid, name, queue_pairs, half in [(8801, "kvstore-a", {"mlx5_bond_0": 8, "mlx5_bond_1": 8}, 0),
                                         (9170, "prefill-w2", {"mlx5_bond_2": 1}, 1),
                                         (8802, "kvstore-b", {"mlx5_bond_3": 8}, 1)]:
        node.process(pid, name, queue_pairs, f"{32 * half}-{32 * half + 31}", half, 32 * half + 3)
    return node


def a_card_on_half_its_lanes():
    node = Node("infer-118")
    for at in range(4):
        node.rail(f"roce{at}", at // 2, 400, lanes=8 if at == 1 else 16, rate=27.9 if at == 1 else 48.3, jitter=0.01)
        half = at // 2
        node.process(3310 + at, "nixl_agent", {f"roce{at}": 8}, f"{32 * half}-{32 * half + 31}", half, 32 * half + at)
    node.load(op="read", target="host", devices=[f"roce{at}" for at in range(4)], qps=8, msg_bytes=1 << 20)
    return node


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for letter, node in [("a", a_rank_on_the_wrong_socket), ("b", all_of_it_over_one_leg), ("c", a_card_on_half_its_lanes)]:
        node().record(sys.argv[1], HERE / f"{letter}.rsz")

//! A graph of elements: nodes with names, and edges between their ports.
//!
//! Nodes are numbered in the order in which they are added; what happens at one instant happens in this order (see
//! `agenda`). An edge joins a port that leads towards UEs (odd) with one that leads towards servers (even). A port that is
//! left open is a gate: there packets enter and leave the path.

use super::{Element, Layout, Port};
use crate::packet::Dir;
use crate::port::Target;

/// Number of a node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u16);

/// An end of an edge: a port of a node.
pub type Joint = (NodeId, Port);

/// Elements, and the edges between their ports.
#[derive(Default)]
pub struct Graph {
    nodes: Vec<Box<dyn Element>>,
    /// Name of each node, empty without one.
    names: Vec<String>,
    edges: Vec<[Joint; 2]>,
    /// Side edges: not on the paths of packets between server and UEs.
    sides: Vec<[Joint; 2]>,
    /// Whether elements may get other parameters while the path runs.
    may_change: bool,
}

impl Graph {
    /// Adds a node.
    pub fn node(&mut self, element: Box<dyn Element>) -> NodeId {
        self.nodes.push(element);
        self.names.push(String::new());
        NodeId(self.nodes.len() as u16 - 1)
    }

    /// Gives a node a name, which its report says.
    pub fn set_name(&mut self, node: NodeId, name: impl Into<String>) {
        self.names[usize::from(node.0)] = name.into();
    }

    /// Declares that elements may get other parameters while the path runs: nothing is computed ahead of time then.
    pub fn set_may_change(&mut self) {
        self.may_change = true;
    }

    /// Whether elements may get other parameters while the path runs.
    pub fn may_change(&self) -> bool {
        self.may_change
    }

    /// Names of all nodes; a node without one has an empty name.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What each node needs.
    pub(crate) fn layouts(&self) -> Vec<Layout> {
        self.nodes.iter().map(|element| element.layout()).collect()
    }

    /// Nodes that are next to each other: the one nearer to the server first.
    pub fn edges(&self) -> impl Iterator<Item = [u16; 2]> {
        self.edges.iter().map(|[upper, lower]| [upper.0.0, lower.0.0])
    }

    /// Joins a port that leads towards UEs with one that leads towards servers.
    ///
    /// # Panics
    /// If both lead in the same direction, or one is joined already.
    pub fn join(&mut self, upper: Joint, lower: Joint) {
        self.check(upper, lower);
        self.edges.push([upper, lower]);
    }

    /// Joins two nodes by a side edge, e.g. cells that forward to each other: a packet emitted by such a port arrives
    /// as over any other edge, but the two nodes are not neighbours between server and UEs.
    ///
    /// # Panics
    /// As [`Graph::join`].
    pub fn join_beside(&mut self, upper: Joint, lower: Joint) {
        self.check(upper, lower);
        self.sides.push([upper, lower]);
    }

    fn check(&self, upper: Joint, lower: Joint) {
        let directions = [upper, lower].map(|(_, port)| port.through().dir());
        assert_eq!(directions, [Dir::Downlink, Dir::Uplink], "{upper:?} and {lower:?} do not fit");
        let mut taken = self.edges.iter().chain(&self.sides).flatten();
        assert!(
            taken.all(|joint| ![upper, lower].contains(joint)),
            "{upper:?} or {lower:?} is joined already"
        );
    }

    /// The joint at the other end of an edge, and whether it is a side edge.
    fn peer(&self, own: Joint) -> Option<(Joint, bool)> {
        let edges = self.edges.iter().map(|edge| (edge, false));
        let mut all = edges.chain(self.sides.iter().map(|edge| (edge, true)));
        all.find_map(|([upper, lower], is_beside)| match own {
            own if own == *upper => Some((*lower, is_beside)),
            own if own == *lower => Some((*upper, is_beside)),
            _ => None,
        })
    }

    /// Joins the box below `upper`, and returns the port that leads on from it towards UEs.
    pub fn append(&mut self, upper: Joint, element: Box<dyn Element>) -> Joint {
        let node = self.node(element);
        self.join(upper, (node, Port::UP));
        (node, Port::DOWN)
    }

    /// The elements in their order, with their names and the topology between them.
    pub(crate) fn into_parts(self) -> (Vec<Box<dyn Element>>, Vec<String>, Topology) {
        let topology = Topology::new(&self);
        (self.nodes, self.names, topology)
    }
}

/// A straight line of boxes, from the server's side to the UEs' side.
impl From<Vec<Box<dyn Element>>> for Graph {
    fn from(elements: Vec<Box<dyn Element>>) -> Self {
        let mut graph = Self::default();
        for element in elements {
            let node = graph.node(element);
            if node.0 > 0 {
                graph.join((NodeId(node.0 - 1), Port::DOWN), (node, Port::UP));
            }
        }
        graph
    }
}

/// Where each port of each node leads.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    /// First port of each node in `targets`, and the number of all ports.
    first: Vec<u32>,
    targets: Vec<Target>,
    /// Whether each target is reached by a side edge.
    beside: Vec<bool>,
    /// Where packets arrive that enter at a gate.
    pub gates: Vec<Joint>,
}

impl Topology {
    fn new(graph: &Graph) -> Self {
        let (mut first, mut targets, mut gates) = (vec![0], Vec::new(), Vec::new());
        let mut beside = Vec::new();
        for (node, element) in (0..).map(NodeId).zip(&graph.nodes) {
            let ports = element.ports();
            let count = ports.iter().map(|port| port.0 + 1).max().unwrap_or(0);
            for own in (0..count).map(|port| (node, Port(port))) {
                let peer = graph.peer(own);
                targets.push(match peer {
                    Some(((next, arrival), _)) => Target::new(next.0, arrival),
                    None => Target::out(gates.len() as u16, own.1),
                });
                beside.push(peer.is_some_and(|(_, is_beside)| is_beside));
                if peer.is_none() && ports.contains(&own.1) {
                    gates.push(own);
                }
            }
            first.push(targets.len() as u32);
        }
        Self { first, targets, beside, gates }
    }

    /// Topology of so many boxes in a line.
    #[cfg(test)]
    pub fn line(nodes: usize) -> Self {
        let boxes = (0..nodes).map(|_| Box::new(tests::Passes) as Box<dyn Element>);
        Self::new(&Graph::from(boxes.collect::<Vec<_>>()))
    }

    /// Targets of all ports, where element `owners[i]` represents node `i`: an element that represents two nodes has
    /// the ports 2 and 3 on the edge between them.
    pub fn targets(&self, owners: &[u16]) -> Vec<Target> {
        let own = self.first.windows(2).zip(owners).flat_map(|(ports, owner)| {
            self.targets[ports[0] as usize..ports[1] as usize].iter().map(move |target| (*owner, *target))
        });
        let owned = own.map(|(own, target)| match owners.get(usize::from(target.node())) {
            Some(owner) if *owner == own => Target::new(own, Port(2 + target.port().0)),
            Some(owner) => Target::new(*owner, target.port()),
            None => target,
        });
        owned.collect()
    }

    /// Number of the first port of a node among those of all nodes.
    pub fn first_port(&self, node: u16) -> u32 {
        self.first[usize::from(node)]
    }

    /// Target of packets that leave a node by a port.
    pub fn target(&self, node: u16, port: Port) -> Target {
        self.targets[self.first_port(node) as usize + usize::from(port.0)]
    }

    /// Nodes that packets leaving `node` in direction `dir` may reach next; `None` for a gate.
    pub fn next(&self, node: usize, dir: Dir) -> impl Iterator<Item = Option<usize>> {
        self.leaving(node, dir).map(|(next, _)| next)
    }

    /// Like `next`, and whether the port belongs to a side edge.
    fn leaving(&self, node: usize, dir: Dir) -> impl Iterator<Item = (Option<usize>, bool)> {
        let ports = self.first[node] as usize..self.first[node + 1] as usize;
        let all = self.targets[ports.clone()].iter().zip(&self.beside[ports]);
        let leaving = all.filter(move |(target, _)| target.port().dir() == dir);
        leaving.map(|(target, is_beside)| {
            let next = Some(usize::from(target.node())).filter(|next| *next + 1 < self.first.len());
            (next, *is_beside)
        })
    }

    /// Nodes on the paths of packets through `node`, in either direction, excluding nodes reached by side edges.
    pub fn around(&self, node: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for dir in Dir::BOTH {
            let mut open = vec![node];
            while let Some(here) = open.pop() {
                let ahead = self.leaving(here, dir).filter(|(_, is_beside)| !is_beside);
                let new: Vec<usize> =
                    ahead.filter_map(|(next, _)| next).filter(|next| !found.contains(next)).collect();
                found.extend(&new);
                open.extend(new);
            }
        }
        found
    }

    /// Whether a node has neighbours in one direction only.
    pub fn is_end(&self, node: usize) -> bool {
        Dir::BOTH.into_iter().any(|dir| self.next(node, dir).all(|next| next.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cx;
    use super::*;
    use crate::packet::Packet;

    /// Passes packets on at once.
    pub struct Passes;

    impl Element for Passes {
        fn layout(&self) -> Layout {
            Layout::default()
        }

        fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
            cx.emit(port.through(), packet);
        }
    }

    #[test]
    fn a_line_has_a_gate_at_either_end() {
        let line = Topology::line(2);
        assert_eq!(line.gates, [(NodeId(0), Port::UP), (NodeId(1), Port::DOWN)]);
        assert_eq!(line.target(0, Port::DOWN), Target::new(1, Port::UP));
        assert_eq!(line.target(1, Port::UP), Target::new(0, Port::DOWN));
        // Node 0 represents both: the edge between them has the ports 2 and 3.
        let joined = line.targets(&[0, 0]);
        assert_eq!(joined[1..3], [Target::new(0, Port(2)), Target::new(0, Port(3))]);
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn an_edge_has_an_upper_and_a_lower_end() {
        let mut graph = Graph::default();
        let nodes = [0, 1].map(|_| graph.node(Box::new(Passes)));
        graph.join((nodes[0], Port::DOWN), (nodes[1], Port::DOWN));
    }

    #[test]
    #[should_panic(expected = "joined already")]
    fn a_port_has_one_edge() {
        let mut graph = Graph::default();
        let first = graph.node(Box::new(Passes));
        for _ in 0..2 {
            graph.append((first, Port::DOWN), Box::new(Passes));
        }
    }
}

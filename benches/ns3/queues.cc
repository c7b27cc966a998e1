// A bottleneck behind one of ns-3's queue disciplines, as the yardstick of airpath's.
//
//     ./queues --discipline=codel --rate=10000 --delayMs=20 --traffic=tcp --starts=0.5,0.6
//
// `queues.py` compiles it and makes the runs.
//
//     server --- 1 Gbit/s, `delayMs` --- router --- `rate`, discipline --- client      back: 1 Gbit/s, no queue
//
// traffic: what the server sends for each of `starts`
// tcp       a bulk TCP download
// udp       packets of 1500 bytes at `load` times the rate, divided among the flows
// `sparse` adds a flow of packets of 200 bytes at so many kbit/s.
//
// The device takes a packet when it has sent the one before: ns-3's own flow control would let it hold one more. Its
// rate is a little higher than `rate`, so that 1500 bytes with their two bytes of PPP last as long as 1500 bytes.
//
// Prints one line of JSON. Counting begins at `warmup` and ends at `time`. A wait ends when the transmission begins.

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <sstream>

using namespace ns3;

namespace {

struct Options {
    std::string discipline = "codel";
    std::string traffic = "tcp";
    std::string starts = "0.5"; // s, one for each flow
    double rate = 10'000;       // kbit/s of IP packets
    double delayMs = 20;        // one way
    double load = 1.1;
    double sparse = 0; // kbit/s of IP packets
    uint32_t packets = 1000; // the discipline's limit
    double warmup = 10;      // s
    double time = 60;        // s
    uint32_t seed = 1;
};

Options options;

const uint32_t SEGMENT = 1460;
const uint16_t FIRST_PORT = 5000;

struct Flow {
    uint64_t bytes = 0; // of user data, at the client
    uint64_t drops = 0;
    std::vector<double> waitsMs;
};

// NewReno where ns-3's parts from RFC 5681. A loss halves what is in flight, limited transmit aside (equation 4); ns-3's
// takes off first what duplicate ACKs report, some four segments. The ACK that ends a recovery does not grow the window.
class NewReno : public TcpNewReno {
  public:
    static TypeId GetTypeId() {
        static TypeId type = TypeId("NewReno").SetParent<TcpNewReno>().AddConstructor<NewReno>();
        return type;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override {
        uint32_t flight = state->m_highTxMark.Get() - state->m_lastAckedSeq;
        uint32_t window = state->m_cWnd - state->m_cWnd % state->m_segmentSize;
        return std::max(2 * state->m_segmentSize, std::min(flight, window) / 2);
    }

    void CongestionStateSet(Ptr<TcpSocketState> state, const TcpSocketState::TcpCongState_t next) override {
        m_recovered = state->m_congState == TcpSocketState::CA_RECOVERY && next == TcpSocketState::CA_OPEN;
    }

    void IncreaseWindow(Ptr<TcpSocketState> state, uint32_t acked) override {
        if (!m_recovered) {
            TcpNewReno::IncreaseWindow(state, acked);
        }
        m_recovered = false;
    }

    Ptr<TcpCongestionOps> Fork() override {
        return CopyObject<NewReno>(this);
    }

  private:
    bool m_recovered = false;
};

std::vector<Flow> flows;
bool counting = false;
struct {
    Flow* flow;
    Time entered;
} leaving; // what the discipline gave last

Flow& FlowOf(Ptr<const QueueDiscItem> item) {
    UdpHeader ports; // TCP's stand at the same place
    item->GetPacket()->PeekHeader(ports);
    return flows.at(ports.GetDestinationPort() - FIRST_PORT);
}

void NoteLeaving(Ptr<const QueueDiscItem> item) {
    leaving = {&FlowOf(item), item->GetTimeStamp()};
}

void CountDrop(Ptr<const QueueDiscItem> item) {
    FlowOf(item).drops += counting;
}

void Stop(Ptr<NetDeviceQueue> queue, Ptr<const Packet>) {
    if (counting) {
        leaving.flow->waitsMs.push_back((Simulator::Now() - leaving.entered).GetSeconds() * 1e3);
    }
    queue->Stop();
}

void Go(Ptr<NetDeviceQueue> queue, Ptr<const Packet>) {
    Simulator::ScheduleNow(&NetDeviceQueue::Wake, queue);
}

void Receive(Flow* flow, Ptr<Socket> socket) {
    while (Ptr<Packet> packet = socket->Recv()) {
        flow->bytes += counting ? packet->GetSize() : 0;
    }
}

void Accept(Flow* flow, Ptr<Socket> socket, const Address&) {
    socket->SetRecvCallback(MakeBoundCallback(&Receive, flow));
}

void Fill(Ptr<Socket> socket, uint32_t) {
    while (socket->GetTxAvailable() >= SEGMENT && socket->Send(Create<Packet>(SEGMENT)) > 0) {
    }
}

void Connected(Ptr<Socket> socket) {
    Fill(socket, 0);
}

void SendAtRate(Ptr<Socket> socket, uint32_t bytes, double kbps) {
    socket->Send(Create<Packet>(bytes - 28));
    Simulator::Schedule(NanoSeconds(std::llround(bytes * 8e6 / kbps)), &SendAtRate, socket, bytes, kbps);
}

void Set(const std::string& name, const AttributeValue& value) {
    Config::SetDefault("ns3::" + name, value);
}

void Configure() {
    RngSeedManager::SetRun(options.seed);
    Set("TcpL4Protocol::SocketType", TypeIdValue(NewReno::GetTypeId()));
    Set("TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Set("TcpSocketBase::Sack", BooleanValue(true));
    Set("TcpSocketBase::Timestamp", BooleanValue(false));
    Set("TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Set("TcpSocket::InitialCwnd", UintegerValue(10));
    Set("TcpSocket::DelAckCount", UintegerValue(2));
    Set("TcpSocket::RcvBufSize", UintegerValue(4'000'000));
    Set("TcpSocket::SndBufSize", UintegerValue(8'000'000));
    Set("PointToPointNetDevice::Mtu", UintegerValue(1500));
    // The devices never drop.
    Set("DropTailQueue<Packet>::MaxSize", StringValue("1000000p"));
    // CoDel leaves what is not more than an MTU alone: MinBytes is what it does not.
    Set("CoDelQueueDisc::MinBytes", UintegerValue(1501));
    Set("CoDelQueueDisc::UseEcn", BooleanValue(false));
    Set("FqCoDelQueueDisc::UseEcn", BooleanValue(false));
    Set("PieQueueDisc::MaxBurstAllowance", TimeValue(MilliSeconds(150)));
    Set("PieQueueDisc::UseEcn", BooleanValue(false));
}

std::string Json(const Flow& flow, double seconds) {
    std::vector<double> sorted = flow.waitsMs;
    std::sort(sorted.begin(), sorted.end());
    double sent = sorted.size();
    double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / std::max(1.0, sent);
    double most = sent ? sorted[static_cast<size_t>(0.95 * (sent - 1))] : 0;
    std::ostringstream text;
    text.precision(8);
    text << "{\"goodput_kbps\": " << flow.bytes * 8 / seconds / 1e3 << ", \"packets\": " << sent
         << ", \"drops\": " << flow.drops << ", \"wait_ms\": " << mean << ", \"wait_95_ms\": " << most << "}";
    return text.str();
}

void Print() {
    double seconds = options.time - options.warmup;
    Flow all;
    std::cout << "{\"flows\": [";
    for (const Flow& flow : flows) {
        std::cout << (all.waitsMs.empty() ? "" : ", ") << Json(flow, seconds);
        all.bytes += flow.bytes;
        all.drops += flow.drops;
        all.waitsMs.insert(all.waitsMs.end(), flow.waitsMs.begin(), flow.waitsMs.end());
    }
    std::cout << "], \"all\": " << Json(all, seconds) << "}" << std::endl;
}

NetDeviceContainer Wire(Ptr<Node> from, Ptr<Node> to, Time delay) {
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("1Gb/s"));
    wire.SetChannelAttribute("Delay", TimeValue(delay));
    return wire.Install(from, to);
}

void Limit(Ptr<NetDevice> device) {
    DataRate rate(std::llround(options.rate * 1e3 * 1502 / 1500));
    device->SetAttribute("DataRate", DataRateValue(rate));
    std::map<std::string, std::string> names = {
        {"droptail", "FifoQueueDisc"},
        {"codel", "CoDelQueueDisc"},
        {"fq_codel", "FqCoDelQueueDisc"},
        {"pie", "PieQueueDisc"},
    };
    TrafficControlHelper discipline;
    discipline.SetRootQueueDisc("ns3::" + names.at(options.discipline), "MaxSize",
                                QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, options.packets)));
    Ptr<QueueDisc> queue = discipline.Install(device).Get(0);
    queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&NoteLeaving));
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
    Ptr<NetDeviceQueue> line = device->GetObject<NetDeviceQueueInterface>()->GetTxQueue(0);
    device->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&Stop, line));
    device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Go, line));
}

// A download, or packets of so many bytes at a rate.
void Start(Ptr<Node> server, Ptr<Node> client, Ipv4Address address, double at, uint32_t bytes, double kbps) {
    uint16_t port = FIRST_PORT + flows.size();
    flows.emplace_back();
    Flow* flow = &flows.back();
    bool tcp = kbps == 0;
    auto kind = tcp ? TcpSocketFactory::GetTypeId() : UdpSocketFactory::GetTypeId();
    Ptr<Socket> receiver = Socket::CreateSocket(client, kind);
    Ptr<Socket> sender = Socket::CreateSocket(server, kind);
    receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    InetSocketAddress to(address, port);
    if (tcp) {
        receiver->Listen();
        receiver->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeBoundCallback(&Accept, flow));
        sender->SetConnectCallback(MakeCallback(&Connected), MakeNullCallback<void, Ptr<Socket>>());
        sender->SetSendCallback(MakeCallback(&Fill));
        Simulator::Schedule(Seconds(at), [sender, to] { sender->Connect(to); });
        return;
    }
    receiver->SetRecvCallback(MakeBoundCallback(&Receive, flow));
    sender->Connect(to);
    Simulator::Schedule(Seconds(at), &SendAtRate, sender, bytes, kbps);
}

void Run() {
    NodeContainer nodes;
    nodes.Create(3);
    Ptr<Node> server = nodes.Get(0), router = nodes.Get(1), client = nodes.Get(2);
    InternetStackHelper internet;
    internet.Install(nodes);
    NetDeviceContainer far = Wire(server, router, MicroSeconds(std::llround(options.delayMs * 1e3)));
    NetDeviceContainer near = Wire(router, client, Seconds(0));
    Limit(near.Get(0));
    Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(far);
    Ipv4InterfaceContainer ends = Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(near);
    // What addresses bring along.
    TrafficControlHelper().Uninstall(far);
    TrafficControlHelper().Uninstall(near.Get(1));
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<double> starts;
    std::istringstream text(options.starts);
    for (std::string item; std::getline(text, item, ',');) {
        starts.push_back(std::stod(item));
    }
    flows.reserve(starts.size() + (options.sparse > 0));
    double share = options.traffic == "udp" ? options.load * options.rate / starts.size() : 0;
    for (double at : starts) {
        Start(server, client, ends.GetAddress(1), at, 1500, share);
    }
    if (options.sparse > 0) {
        Start(server, client, ends.GetAddress(1), 1, 200, options.sparse);
    }
    Simulator::Schedule(Seconds(options.warmup), [] { counting = true; });
    Simulator::Stop(Seconds(options.time));
    Simulator::Run();
    Print();
    Simulator::Destroy();
}

} // namespace

int main(int argc, char** argv) {
    CommandLine command(__FILE__);
    command.AddValue("discipline", "codel, fq_codel, pie or droptail", options.discipline);
    command.AddValue("traffic", "tcp or udp", options.traffic);
    command.AddValue("starts", "s, one for each flow", options.starts);
    command.AddValue("rate", "kbit/s of IP packets", options.rate);
    command.AddValue("delayMs", "one way", options.delayMs);
    command.AddValue("load", "of UDP, times the rate", options.load);
    command.AddValue("sparse", "kbit/s of a flow of small packets", options.sparse);
    command.AddValue("packets", "the discipline's limit", options.packets);
    command.AddValue("warmup", "s", options.warmup);
    command.AddValue("time", "s", options.time);
    command.AddValue("seed", "of PIE", options.seed);
    command.Parse(argc, argv);
    Configure();
    Run();
    return 0;
}

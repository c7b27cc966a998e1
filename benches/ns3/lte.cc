// One LTE cell in ns-3, as the yardstick of `radio.lte`: an eNodeB, its UEs, an EPC without delay, and a server
// behind a wire. With `upload` the UEs send and the server receives.
//
//     ./lte --ues=4 --prbs=25 --scheduler=pf --traffic=tcp --rlc=am
//
// `lte.py` compiles it and makes the runs.
//
// traffic: what the server does for each UE
// tcp       one bulk TCP download, NewReno, limited by the receive window
// udp       packets of `segment` + 40 bytes at `rate` kbit/s
// ping      a packet of `segment` + 40 bytes now and then, which the UE answers with one of 40: an idle cell
// cqi       nothing runs: the CQI by SINR, the MCS by CQI, and the block sizes
//
// Prints one line of JSON. Counting begins at `warmup` and ends at `time`, CPU time (user and system) included.
// `mac_kBps` and `bytes` are of blocks sent for the first time: what arrives as long as HARQ repairs all.

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/lte-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <sys/resource.h>

#include <cmath>
#include <iostream>
#include <map>
#include <sstream>

using namespace ns3;

namespace {

struct Options {
    uint32_t ues = 1;
    uint32_t prbs = 25;
    uint32_t rbg = 2; // PRBs for which traffic=cqi wants the CQI
    std::string scheduler = "pf";
    std::string traffic = "tcp";
    std::string rlc = "am";
    std::string amc = "mi";
    double ber = 5e-5; // for piro: the greater, the higher the CQI, until blocks are lost
    std::string distances = "0"; // m, one for each UE; the last one serves for the rest
    bool upload = false; // not with ping
    bool errors = false;
    bool harq = true;
    uint32_t buffer = 10'000'000;  // bytes of SDUs in RLC, each way; ns-3's default is 10240
    uint32_t window = 256 * 1024;  // bytes: TCP's receive window
    uint32_t segment = 1460;       // bytes without headers, of which TCP and UDP have 40 and 28
    uint32_t initialWindow = 10;   // segments
    uint32_t segmentsPerAck = 2;
    double statusProhibitMs = 10;
    double reorderingMs = 50; // ns-3's default is 10 for AM: less than a block needs that is repeated twice
    double wireMs = 10;   // one way
    double rate = 20'000; // kbit/s of IP packets, each UE
    double warmup = 2;    // s
    double time = 12;     // s
    uint32_t seed = 1;
};

Options options;

struct Blocks {
    uint64_t sent[2] = {0, 0}; // the first time, and again
    uint64_t lost[2] = {0, 0}; // likewise; ns-3 says so only when blocks can be lost
    uint64_t bytes = 0;        // of blocks sent for the first time
    std::map<uint32_t, uint64_t> mcs;
    std::map<uint32_t, uint64_t> sizes;
};

struct Ue {
    double sinrDb = 0;
    uint64_t bytes = 0; // of user data, at the receiver
    uint64_t packets = 0;
    uint64_t sent = 0; // by the sender, retransmissions included
    uint64_t drops = 0;
    Blocks down;
    Blocks up;
    std::vector<double> rtts; // ms
    std::vector<double> downMs;
    std::vector<double> upMs;
    Time sentAt;
    Time heardAt;
};

std::vector<Ue> ues;
std::map<uint16_t, size_t> ueByRnti;
double cpuAtStart = 0;
bool counting = false;

double CpuSeconds() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec / 1e6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void StartCounting() {
    counting = true;
    cpuAtStart = CpuSeconds();
}

void CountSent(Blocks Ue::*direction, const PhyTransmissionStatParameters block) {
    if (!counting || ueByRnti.count(block.m_rnti) == 0) {
        return;
    }
    Blocks& blocks = ues[ueByRnti.at(block.m_rnti)].*direction;
    blocks.sent[block.m_rv > 0] += 1;
    if (block.m_rv == 0) {
        blocks.bytes += block.m_size;
        blocks.mcs[block.m_mcs] += 1;
        blocks.sizes[block.m_size] += 1;
    }
}

void CountReceived(Blocks Ue::*direction, const PhyReceptionStatParameters block) {
    if (counting && ueByRnti.count(block.m_rnti) == 1) {
        (ues[ueByRnti.at(block.m_rnti)].*direction).lost[block.m_rv > 0] += block.m_correctness == 0;
    }
}

void NoteSinr(Ue* ue, uint16_t, uint16_t, double, double sinr, uint8_t) {
    ue->sinrDb = 10 * std::log10(sinr);
}

void CountDrop(Ue* ue, Ptr<const Packet>) {
    ue->drops += counting;
}

// Data that reaches a UE.
void Receive(Ue* ue, Ptr<Socket> socket) {
    while (Ptr<Packet> packet = socket->Recv()) {
        ue->bytes += counting ? packet->GetSize() : 0;
        ue->packets += counting && options.traffic != "tcp";
        if (options.traffic == "ping") {
            ue->heardAt = Simulator::Now();
            Address server;
            socket->GetPeerName(server);
            socket->Send(Create<Packet>(12));
        }
    }
}

void ReceiveAnswer(Ue* ue, Ptr<Socket> socket) {
    while (socket->Recv()) {
        if (counting) {
            Time now = Simulator::Now();
            ue->rtts.push_back((now - ue->sentAt).GetSeconds() * 1e3);
            ue->downMs.push_back((ue->heardAt - ue->sentAt).GetSeconds() * 1e3);
            ue->upMs.push_back((now - ue->heardAt).GetSeconds() * 1e3);
        }
    }
}

void Accept(Ue* ue, Ptr<Socket> socket, const Address&) {
    socket->SetRecvCallback(MakeBoundCallback(&Receive, ue));
}

void Fill(Ptr<Socket> socket, uint32_t) {
    while (socket->GetTxAvailable() >= options.segment && socket->Send(Create<Packet>(options.segment)) > 0) {
    }
}

void Connected(Ptr<Socket> socket) {
    Fill(socket, 0);
}

void NoteRtt(Ue* ue, Time, Time rtt) {
    if (counting) {
        ue->rtts.push_back(rtt.GetSeconds() * 1e3);
    }
}

void CountSegment(Ue* ue, Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>) {
    ue->sent += counting && packet->GetSize() > 0;
}

void SendAtRate(Ue* ue, Ptr<Socket> socket) {
    socket->Send(Create<Packet>(options.segment + 12));
    ue->sent += counting;
    double interval = (options.segment + 40) * 8 / (options.rate * 1e3);
    Simulator::Schedule(Seconds(interval), &SendAtRate, ue, socket);
}

void Ping(Ue* ue, Ptr<Socket> socket) {
    ue->sentAt = Simulator::Now();
    socket->Send(Create<Packet>(options.segment + 12));
    ue->sent += counting;
    // No multiple of any period of LTE, so that the phases are even.
    Simulator::Schedule(MicroSeconds(307'130), &Ping, ue, socket);
}

void Set(const std::string& name, const AttributeValue& value) {
    Config::SetDefault("ns3::" + name, value);
}

void Configure() {
    std::string scheduler = options.scheduler == "pf" ? "Pf" : "Rr";
    Set("LteHelper::Scheduler", StringValue("ns3::" + scheduler + "FfMacScheduler"));
    Set("PfFfMacScheduler::HarqEnabled", BooleanValue(options.harq));
    Set("RrFfMacScheduler::HarqEnabled", BooleanValue(options.harq));
    Set("LteEnbNetDevice::DlBandwidth", UintegerValue(options.prbs));
    Set("LteEnbNetDevice::UlBandwidth", UintegerValue(options.prbs));
    Set("LteSpectrumPhy::DataErrorModelEnabled", BooleanValue(options.errors));
    Set("LteSpectrumPhy::CtrlErrorModelEnabled", BooleanValue(options.errors));
    Set("LteAmc::AmcModel", EnumValue(options.amc == "mi" ? LteAmc::MiErrorModel : LteAmc::PiroEW2010));
    Set("LteAmc::Ber", DoubleValue(options.ber));
    auto mode = options.rlc == "am" ? LteEnbRrc::RLC_AM_ALWAYS : LteEnbRrc::RLC_UM_ALWAYS;
    Set("LteEnbRrc::EpsBearerToRlcMapping", EnumValue(mode));
    Set("LteRlcAm::MaxTxBufferSize", UintegerValue(options.buffer));
    Set("LteRlcAm::StatusProhibitTimer", TimeValue(MicroSeconds(options.statusProhibitMs * 1e3)));
    Set("LteRlcAm::ReorderingTimer", TimeValue(MicroSeconds(options.reorderingMs * 1e3)));
    Set("LteRlcUm::ReorderingTimer", TimeValue(MicroSeconds(options.reorderingMs * 1e3)));
    Set("LteRlcUm::MaxTxBufferSize", UintegerValue(options.buffer));
    // Releases after 3.37 have it, and it is on.
    Config::SetDefaultFailSafe("ns3::LteRlcUm::EnablePdcpDiscarding", BooleanValue(false));

    Set("TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Set("TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Set("TcpSocketBase::Sack", BooleanValue(false));
    Set("TcpSocketBase::Timestamp", BooleanValue(false));
    Set("TcpSocket::SegmentSize", UintegerValue(options.segment));
    Set("TcpSocket::InitialCwnd", UintegerValue(options.initialWindow));
    Set("TcpSocket::DelAckCount", UintegerValue(options.segmentsPerAck));
    Set("TcpSocket::RcvBufSize", UintegerValue(options.window));
    Set("TcpSocket::SndBufSize", UintegerValue(4 * options.window));
    // The wire never drops.
    Set("PointToPointNetDevice::Mtu", UintegerValue(1500));
    Set("DropTailQueue<Packet>::MaxSize", StringValue("1000000p"));
}

std::string Json(const std::map<uint32_t, uint64_t>& counts) {
    std::ostringstream text;
    for (auto [key, count] : counts) {
        text << (text.tellp() > 0 ? ", " : "") << '"' << key << "\": " << count;
    }
    return "{" + text.str() + "}";
}

std::string Json(const Blocks& blocks) {
    std::ostringstream text;
    text << "{\"sent\": [" << blocks.sent[0] << ", " << blocks.sent[1] << "], \"lost\": [" << blocks.lost[0] << ", "
         << blocks.lost[1] << "], \"bytes\": " << blocks.bytes << ", \"mcs\": " << Json(blocks.mcs)
         << ", \"sizes\": " << Json(blocks.sizes) << "}";
    return text.str();
}

// Mean, least and greatest.
std::string Json(const std::vector<double>& values) {
    if (values.empty()) {
        return "null";
    }
    double sum = 0;
    for (double value : values) {
        sum += value;
    }
    auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    std::ostringstream text;
    text.precision(6);
    text << "[" << sum / values.size() << ", " << *least << ", " << *greatest << "]";
    return text.str();
}

void Print(double cpu) {
    double seconds = options.time - options.warmup;
    std::ostringstream text;
    text.precision(8);
    text << "{\"ues\": [";
    uint64_t packets = 0;
    for (size_t i = 0; i < ues.size(); ++i) {
        Ue& ue = ues[i];
        if (options.traffic == "tcp") {
            ue.packets = ue.bytes / options.segment;
        }
        packets += ue.packets;
        text << (i ? ", " : "") << "{\"sinr_db\": " << ue.sinrDb << ", \"goodput_kBps\": " << ue.bytes / seconds / 1e3
             << ", \"mac_kBps\": " << (options.upload ? ue.up : ue.down).bytes / seconds / 1e3 << ", \"packets\": " << ue.packets
             << ", \"sent\": " << ue.sent << ", \"drops\": " << ue.drops << ", \"rtt_ms\": " << Json(ue.rtts);
        if (options.traffic == "ping") {
            text << ", \"down_ms\": " << Json(ue.downMs) << ", \"up_ms\": " << Json(ue.upMs);
        }
        text << ", \"down\": " << Json(ue.down) << ", \"up\": " << Json(ue.up) << "}";
    }
    text << "], \"packets\": " << packets << ", \"cpu_s\": " << cpu << ", \"simulated_s\": " << seconds << "}";
    std::cout << text.str() << std::endl;
}

void PrintCqi() {
    Ptr<LteAmc> amc = CreateObject<LteAmc>();
    std::vector<int> resourceBlocks;
    for (uint32_t i = 0; i < options.prbs; ++i) {
        resourceBlocks.push_back(i);
    }
    Ptr<SpectrumModel> model = LteSpectrumValueHelper::GetSpectrumModel(100, options.prbs);
    std::cout << "{\"cqi\": [";
    int cqi = 0;
    for (double sinr = -20; sinr < 40 && cqi < 15; sinr += 0.01) {
        SpectrumValue values(model);
        values = std::pow(10, sinr / 10);
        int now = amc->CreateCqiFeedbacks(values, options.rbg).front();
        if (now > cqi) {
            int mcs = amc->GetMcsFromCqi(now);
            std::cout << (cqi ? ", " : "") << "{\"cqi\": " << now << ", \"sinr_db\": " << std::round(sinr * 100) / 100
                      << ", \"mcs\": " << mcs << ", \"bytes\": " << amc->GetDlTbSizeFromMcs(mcs, options.prbs) / 8
                      << "}";
            cqi = now;
        }
    }
    std::cout << "]}" << std::endl;
}

NodeContainer Place(const std::vector<double>& distances) {
    NodeContainer nodes;
    nodes.Create(distances.size());
    MobilityHelper mobility;
    Ptr<ListPositionAllocator> positions = CreateObject<ListPositionAllocator>();
    for (double distance : distances) {
        positions->Add(Vector(distance, 0, 0));
    }
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    return nodes;
}

void Run() {
    std::vector<double> distances;
    std::istringstream text(options.distances);
    for (std::string item; std::getline(text, item, ',');) {
        distances.push_back(std::stod(item));
    }
    distances.resize(options.ues, distances.back());
    ues.resize(options.ues);

    Ptr<LteHelper> lte = CreateObject<LteHelper>();
    Ptr<PointToPointEpcHelper> epc = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(epc);
    NodeContainer station = Place({0});
    NodeContainer terminals = Place(distances);
    Ptr<Node> server = CreateObject<Node>();
    InternetStackHelper internet;
    internet.Install(server);
    internet.Install(terminals);

    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("1Gb/s"));
    wire.SetChannelAttribute("Delay", TimeValue(MicroSeconds(options.wireMs * 1e3)));
    NetDeviceContainer ends = wire.Install(epc->GetPgwNode(), server);
    Ipv4AddressHelper addresses("1.0.0.0", "255.0.0.0");
    addresses.Assign(ends);
    TrafficControlHelper().Uninstall(ends);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server->GetObject<Ipv4>())->AddNetworkRouteTo("7.0.0.0", "255.0.0.0", 1);

    NetDeviceContainer enb = lte->InstallEnbDevice(station);
    NetDeviceContainer radios = lte->InstallUeDevice(terminals);
    Ipv4InterfaceContainer interfaces = epc->AssignUeIpv4Address(radios);
    for (uint32_t i = 0; i < options.ues; ++i) {
        Ptr<Ipv4> ipv4 = terminals.Get(i)->GetObject<Ipv4>();
        routing.GetStaticRouting(ipv4)->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
        lte->Attach(radios.Get(i), enb.Get(0));
        Ptr<LteUePhy> phy = radios.Get(i)->GetObject<LteUeNetDevice>()->GetPhy();
        phy->TraceConnectWithoutContext("ReportCurrentCellRsrpSinr", MakeBoundCallback(&NoteSinr, &ues[i]));
        phy->TraceConnectWithoutContext("UlPhyTransmission", MakeBoundCallback(&CountSent, &Ue::up));
        phy->GetDlSpectrumPhy()->TraceConnectWithoutContext("DlPhyReception",
                                                            MakeBoundCallback(&CountReceived, &Ue::down));
    }
    Ptr<LteEnbPhy> phy = enb.Get(0)->GetObject<LteEnbNetDevice>()->GetPhy();
    phy->TraceConnectWithoutContext("DlPhyTransmission", MakeBoundCallback(&CountSent, &Ue::down));
    phy->GetUlSpectrumPhy()->TraceConnectWithoutContext("UlPhyReception",
                                                        MakeBoundCallback(&CountReceived, &Ue::up));

    for (uint32_t i = 0; i < options.ues; ++i) {
        Ue* ue = &ues[i];
        auto kind = options.traffic == "tcp" ? TcpSocketFactory::GetTypeId() : UdpSocketFactory::GetTypeId();
        Ipv4Address serverAddress = server->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
        Ipv4Address ueAddress = interfaces.GetAddress(i);
        InetSocketAddress port(options.upload ? serverAddress : ueAddress, 5000 + i);
        InetSocketAddress senderPort(options.upload ? ueAddress : serverAddress, 6000 + i);
        Ptr<Socket> receiver = Socket::CreateSocket(options.upload ? server : terminals.Get(i), kind);
        receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        Ptr<Socket> sender = Socket::CreateSocket(options.upload ? terminals.Get(i) : server, kind);
        sender->Bind(InetSocketAddress(Ipv4Address::GetAny(), 6000 + i));
        Time start = MilliSeconds(500 + 10 * i);
        if (options.traffic == "tcp") {
            receiver->Listen();
            receiver->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                        MakeBoundCallback(&Accept, ue));
            sender->SetConnectCallback(MakeCallback(&Connected), MakeNullCallback<void, Ptr<Socket>>());
            sender->SetSendCallback(MakeCallback(&Fill));
            // "RTT" was the latest sample before "LastRTT" came.
            if (!sender->TraceConnectWithoutContext("LastRTT", MakeBoundCallback(&NoteRtt, ue))) {
                sender->TraceConnectWithoutContext("RTT", MakeBoundCallback(&NoteRtt, ue));
            }
            sender->TraceConnectWithoutContext("Tx", MakeBoundCallback(&CountSegment, ue));
            Simulator::Schedule(start, [sender, port] { sender->Connect(port); });
        } else {
            receiver->Connect(senderPort);
            receiver->SetRecvCallback(MakeBoundCallback(&Receive, ue));
            sender->Connect(port);
            sender->SetRecvCallback(MakeBoundCallback(&ReceiveAnswer, ue));
            Simulator::Schedule(start, options.traffic == "ping" ? &Ping : &SendAtRate, ue, sender);
        }
        // The bearer is there when the first data comes.
        Simulator::Schedule(MilliSeconds(490), [ue, &station, &radios, i, enb] {
            uint16_t rnti = radios.Get(i)->GetObject<LteUeNetDevice>()->GetRrc()->GetRnti();
            ueByRnti[rnti] = i;
            std::ostringstream path;
            path << "/NodeList/" << station.Get(0)->GetId() << "/DeviceList/0/LteEnbRrc/UeMap/" << rnti
                 << "/DataRadioBearerMap/*/LteRlc/TxDrop";
            Config::ConnectWithoutContext(path.str(), MakeBoundCallback(&CountDrop, ue));
        });
    }
    Simulator::Schedule(Seconds(options.warmup), &StartCounting);
    Simulator::Stop(Seconds(options.time));
    Simulator::Run();
    Print(CpuSeconds() - cpuAtStart);
    Simulator::Destroy();
}

} // namespace

int main(int argc, char* argv[]) {
    CommandLine line;
    line.AddValue("ues", "number of UEs", options.ues);
    line.AddValue("prbs", "bandwidth: 6, 15, 25, 50, 75, 100", options.prbs);
    line.AddValue("rbg", "traffic=cqi: PRBs that the CQI is for", options.rbg);
    line.AddValue("scheduler", "pf or rr", options.scheduler);
    line.AddValue("traffic", "tcp, udp, ping, cqi", options.traffic);
    line.AddValue("rlc", "am or um", options.rlc);
    line.AddValue("amc", "mi (ns-3's default) or piro", options.amc);
    line.AddValue("ber", "of piro", options.ber);
    line.AddValue("distances", "of the UEs in m, with commas", options.distances);
    line.AddValue("upload", "the UEs send", options.upload);
    line.AddValue("errors", "block errors by SINR", options.errors);
    line.AddValue("harq", "HARQ", options.harq);
    line.AddValue("buffer", "of RLC, bytes", options.buffer);
    line.AddValue("statusProhibitMs", "RLC AM", options.statusProhibitMs);
    line.AddValue("reorderingMs", "RLC AM and UM", options.reorderingMs);
    line.AddValue("window", "TCP's receive window, bytes", options.window);
    line.AddValue("segment", "bytes", options.segment);
    line.AddValue("initialWindow", "segments", options.initialWindow);
    line.AddValue("segmentsPerAck", "1 or 2", options.segmentsPerAck);
    line.AddValue("wireMs", "delay of the wire, one way", options.wireMs);
    line.AddValue("rate", "of UDP, kbit/s", options.rate);
    line.AddValue("warmup", "s", options.warmup);
    line.AddValue("time", "s", options.time);
    line.AddValue("seed", "of the random numbers", options.seed);
    line.Parse(argc, argv);
    RngSeedManager::SetRun(options.seed);
    Configure();
    if (options.traffic == "cqi") {
        PrintCqi();
    } else {
        Run();
    }
    return 0;
}

# One bulk TCP flow over a lossy bottleneck with a drop-tail buffer, for ns-2:
#
#     ns dumbbell.tcl agent=Reno rate=384k delay=150 buffer=20 loss=0.01 seed=1 ...
#
# server --- rate, delay, buffer, loss --- station --- 1 Gbit/s --- ue. The way back has the same rate and delay,
# room for every ACK, and no loss. Prints one line of JSON with what the sender and the bottleneck counted. Every
# option of the agent that is set here and is not a default of ns-2 is explained in tests/peers/configurations.py.

array set option {
    agent Reno  rate 384k  delay 150  buffer 20  loss 0.0  payload 536  window 100  ack_every 1
    time 600  seed 1  drops {}  set {}  trace {}
}
foreach argument $argv {
    set value [join [lassign [split $argument =] key] =]
    if {![info exists option($key)]} { error "unknown option '$key': use [lsort [array names option]]" }
    set option($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags
$defaultRNG seed $option(seed)
set sim [new Simulator]
$sim use-scheduler Heap
if {$option(trace) ne ""} { $sim trace-all [open $option(trace) w] }

# Further variables of the agents, as "Agent/TCP.variable:value,..."
foreach assignment [split $option(set) ,] {
    regexp {^(.+)[.](.+):(.+)$} $assignment -> class variable value
    $class set $variable $value
}

set server [$sim node]
set station [$sim node]
set ue [$sim node]
$sim duplex-link $server $station $option(rate) $option(delay)ms DropTail
$sim queue-limit $server $station $option(buffer)
$sim queue-limit $station $server 100000
$sim duplex-link $station $ue 1Gb 0ms DropTail
$sim queue-limit $station $ue 100000
$sim queue-limit $ue $station 100000

if {$option(drops) ne ""} {
    # A file with the numbers of the packets that the link loses, the first being 0.
    set file [open $option(drops)]
    set errors [new ErrorModel/List]
    $errors unit pkt
    $errors droplist [read $file]
    $errors drop-target [new Agent/Null]
    $sim link-lossmodel $errors $server $station
} elseif {$option(loss) > 0} {
    # Behind the transmission and the delay: a lost packet has used the link.
    set errors [new ErrorModel]
    $errors set rate_ $option(loss)
    $errors unit pkt
    $errors ranvar [new RandomVariable/Uniform]
    $errors drop-target [new Agent/Null]
    $sim link-lossmodel $errors $server $station
}

set sender [new Agent/TCP[expr {$option(agent) eq "Tahoe" ? "" : "/$option(agent)"}]]
set kind [expr {$option(agent) eq "Sack1" ? "/Sack1" : ""}][expr {$option(ack_every) == 2 ? "/DelAck" : ""}]
set receiver [new Agent/TCPSink$kind]
$sender set packetSize_ $option(payload)
$sender set window_ $option(window)
$sim attach-agent $server $sender
$sim attach-agent $ue $receiver
$sim connect $sender $receiver
set bulk [new Application/FTP]
$bulk attach-agent $sender
$sim at 0 "$bulk start"

proc finish {} {
    global sim sender
    $sim flush-trace
    # ack_ is the number of the last segment acknowledged in order; the first is number 0.
    puts "{\"acked\": [expr {[$sender set ack_] + 1}], \"sent\": [$sender set ndatapack_],\
        \"retransmissions\": [$sender set nrexmitpack_], \"timeouts\": [$sender set nrexmit_],\
        \"cuts\": [$sender set ncwndcuts_]}"
    exit 0
}
$sim at $option(time) finish
$sim run

# The benchmark's workloads in ns-2, tuned for speed: packets carry only the headers in use, and routes are
# static entries instead of computed tables.
#
#     ns dumbbell.tcl workload=W1 time=3600 scheduler=Heap
#
# server --- wire 75 ms --- base station --- 384 kbit/s 60 ms --- UE, one bearer and one bulk TCP flow for each UE.
# Prints one line of JSON: segments acknowledged in order, segments sent and retransmitted, timeouts, simulated
# seconds.

set option(workload) W1
set option(time) 3600
set option(scheduler) Heap
foreach argument $argv {
    lassign [split $argument =] key value
    if {![info exists option($key)]} { error "unknown option '$key': use [lsort [array names option]]" }
    set option($key) $value
}

# workload -> UEs, window in segments, rate of the wire
array set workloads {
    W1      {1    122 10Mb}
    W1b     {1    25  10Mb}
    W3      {100  122 100Mb}
    W3x10   {10   122 100Mb}
    W3x100  {100  122 100Mb}
    W3x1000 {1000 122 1000Mb}
}
if {![info exists workloads($option(workload))]} {
    error "unknown workload '$option(workload)': use [lsort [array names workloads]]"
}
lassign $workloads($option(workload)) ue_count window wire_rate

# Headers must be chosen before the simulator exists.
remove-all-packet-headers
add-packet-header IP TCP Flags

set sim [new Simulator]
$sim use-scheduler $option(scheduler)
$sim rtproto Manual

# 536 bytes and 40 of headers make packets of 576; the defaults give an initial window of one segment and one
# ACK for each segment.
Agent/TCP set packetSize_ 536
Agent/TCP set window_ $window
Agent/TCP set minrto_ 1.0

set server [$sim node]
set station [$sim node]
$sim duplex-link $server $station $wire_rate 75ms DropTail
# Long enough never to fill: packets are lost at the bearers only.
$sim queue-limit $server $station 10000
$sim queue-limit $station $server 10000
[$server get-module Manual] add-route-to-adj-node -default $station
[$station get-module Manual] add-route-to-adj-node $server

set senders {}
for {set index 0} {$index < $ue_count} {incr index} {
    set ue [$sim node]
    $sim duplex-link $station $ue 384kb 60ms DropTail
    $sim queue-limit $station $ue 50
    $sim queue-limit $ue $station 50
    [$station get-module Manual] add-route-to-adj-node $ue
    [$ue get-module Manual] add-route-to-adj-node -default $station

    set sender [new Agent/TCP/Newreno]
    set receiver [new Agent/TCPSink]
    $sim attach-agent $server $sender
    $sim attach-agent $ue $receiver
    $sim connect $sender $receiver
    set bulk [new Application/FTP]
    $bulk attach-agent $sender
    $sim at [expr {0.01 * $index}] "$bulk start"
    lappend senders $sender
}

proc finish {} {
    global option senders sim
    set acknowledged 0
    set sent 0
    set retransmitted 0
    set timeouts 0
    foreach sender $senders {
        # ack_ is the number of the last segment acknowledged in order; the first is number 0.
        incr acknowledged [expr {[$sender set ack_] + 1}]
        incr sent [$sender set ndatapack_]
        incr retransmitted [$sender set nrexmitpack_]
        incr timeouts [$sender set nrexmit_]
    }
    puts "{\"workload\": \"$option(workload)\", \"packets\": $acknowledged, \"sent\": $sent,\
        \"rexmit\": $retransmitted, \"timeouts\": $timeouts, \"simulated_s\": [$sim now]}"
    exit 0
}
$sim at $option(time) finish
$sim run

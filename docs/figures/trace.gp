# Arrival to admission by rate; the data are of scripts/bench.sh --page.
set terminal svg size 720,420 font "sans,11"
set output "trace.svg"
set logscale xy
set xlabel "times the trace's own rate"
set ylabel "seconds from arrival to admission"
set key top left
set grid
plot "trace.dat" using 1:2 with linespoints title "p50", \
    "trace.dat" using 1:3 with linespoints title "p99", 1 title "limit"

# What grows with prefill ranks; the data are of scripts/bench.sh --page.
set terminal svg size 720,420 font "sans,11"
set output "scale.svg"
set logscale xy
set xlabel "prefill ranks of one encode rank"
set ylabel "sockets of all, microseconds an item"
set key top left
set grid
plot "scale.dat" using 1:2 with linespoints title "sockets, all processes", \
    "scale.dat" using 1:3 with linespoints title "encode rank, us an item"

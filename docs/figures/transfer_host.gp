# Bandwidth by size, window 4; the data are of scripts/bench.sh --page.
set terminal svg size 720,420 font "sans,11"
set output "transfer_host.svg"
set logscale x 2
set logscale y
set xlabel "bytes an item"
set ylabel "MB/s"
set key bottom right
set grid
plot for [i=2:7] "transfer_host.dat" using 1:i with linespoints \
    title word("epdx ucx\\_am ucx\\_am\\_event ucx\\_put tcp shm\\_memcpy", i - 1)

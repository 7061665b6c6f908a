# A drain in which nothing is ready, 2 ranks; the data are of bench.sh --page.
set terminal svg size 720,420 font "sans,11"
set output "drain.svg"
set logscale xy
set xlabel "pending requests"
set ylabel "microseconds"
set key top left
set grid
plot "drain.dat" using 1:2 with linespoints title "drain", \
    "drain.dat" using 1:3 with linespoints title "bare MPI\\_Allreduce"

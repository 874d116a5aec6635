from thriftwood.solvers.min_cut import min_cut

"""MapReduce: work over files, divided among the tasks of a cluster. Public as millrace.mapreduce."""

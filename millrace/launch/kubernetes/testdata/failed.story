  files:0 and 2 more wait: its container is being made
words: 0 of 3 tasks run; files:0 and 2 more wait: its container is being made
  files:0 and 1 more wait: its container is being made
words: 1 of 3 tasks run; files:0 and 1 more wait: its container is being made
  all 3 tasks run
words: 3 of 3 tasks run
words: failed after 4.0 s: map:1: exit code 3
words: failed after 4.0 s: map:1: exit code 3
words: failed after 4.0 s: map:1: exit code 3
task     exit reason            time   peak memory
files:0  stopped: map:1 failed  1.0 s  -
map:0    stopped: map:1 failed  3.0 s  -
map:1    exit code 3            1.0 s  -
         last error: ValueError: bad record
job failed after 4.0 s: map:1: exit code 3

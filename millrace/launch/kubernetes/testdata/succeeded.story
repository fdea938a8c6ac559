  files:0 and 2 more wait: its container is being made
words: 0 of 3 tasks run; files:0 and 2 more wait: its container is being made
words: 0 of 3 tasks run; files:0 and 2 more wait: its container is being made
  all 3 tasks run
words: 3 of 3 tasks run
words: 2 of 3 tasks run
words: succeeded in 5.0 s; 1 task still runs
words: succeeded in 5.0 s
words: succeeded in 5.0 s
words: succeeded in 5.0 s
words: succeeded in 5.0 s
words: succeeded in 5.0 s
task     exit reason            time   peak memory
files:0  stopped: job finished  3.0 s  -
map:0    completed              3.0 s  -
map:1    completed              2.0 s  -
job succeeded in 5.0 s

export TF_CONFIG='{
  "cluster": {
    "map": [
      "localhost:2224",
      "localhost:2225"
    ],
    "reduce": [
      "localhost:2223"
    ],
    "files": [
      "localhost:2222"
    ]
  },
  "task": {
    "index": 0,
    "type": "map"
  }
}'
export CUDA_VISIBLE_DEVICES=-1

"""Stories of tensors that a session keeps between its steps, by handles, and of mutexes."""

from cases import ANY, StoryRow


def session_tensor(m):
    """What a handle is called is nobody's business."""
    shape = m.shape()
    value = m.values(shape)
    _, call, output = m.call("GetSessionHandle", {"value": value}, hides=True)
    handle = {"handle": ("=", call, output)}
    dtype = "int32" if m.one_in(8) else m.dtype
    m.call("GetSessionTensor", handle, dtype=dtype)
    for _ in range(m.choice([1, 1, 2])):
        m.call("DeleteSessionTensor", handle)
    m.call("GetSessionTensor", handle, dtype=m.dtype)
    m.call("GetSessionHandleV2", {"value": m.values(shape)})


def lost_tensor(m):
    """Handles that nobody gave."""
    handle = "string", m.values((), dtype="string")[1]
    m.call("GetSessionTensor", {"handle": handle}, dtype=m.dtype)
    m.call("DeleteSessionTensor", {"handle": handle})


def story(m):
    lost_tensor(m) if m.one_in(6) else session_tensor(m)


def mutex(m):
    """One name is one mutex; a lock ends with its step."""
    name = {"shared_name": "m"} if m.one_in(2) else {}
    one = m.call("MutexV2", **name)
    other = m.call("MutexV2", **name)
    for handle in (one, other, one):
        lock = m.call("MutexLock", {"mutex": handle})
        m.call("ConsumeMutexLock", {"mutex_lock": lock})


TABLE = [
    *(
        StoryRow(op, ANY, story)
        for op in "GetSessionHandle GetSessionHandleV2 GetSessionTensor DeleteSessionTensor".split()
    ),
    *(StoryRow(op, ["bool"], mutex) for op in "MutexV2 MutexLock ConsumeMutexLock".split()),
]

"""The devices that tf.config lists: the CPU, which may be several devices of sessions in this process."""

import collections

from millrace._run.process_options import options

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
DeviceAttributes = collections.namedtuple(
    "DeviceAttributes",
    ["name", "device_type", "memory_limit", "incarnation", "physical_device_desc"],
)

_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_CPU_MEMORY = 256 << 20  # what TensorFlow says of every CPU, whatever the machine has


class VirtualDeviceConfiguration(
    collections.namedtuple("VirtualDeviceConfiguration", ["memory_limit"])
):
    """One of several devices that a physical one is to be.

    Args:
      memory_limit: None: the memory of a CPU is not divided.
    """

    __slots__ = ()

    def __new__(cls, memory_limit=None):
        return super().__new__(cls, memory_limit)


def list_physical_devices(device_type=None):
    """The PhysicalDevices of a type ("CPU", "GPU"), or all: the CPU, and no other ever."""
    return [_CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type=None):
    """The LogicalDevices of a type, or all, that sessions made from now on in this process have."""
    if device_type not in (None, "CPU"):
        return []
    names = (f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(options.cpu_devices))
    return [LogicalDevice(name, "CPU") for name in names]


def list_devices():
    """The names of the devices that sessions made from now on in this process have."""
    return [device.name for device in list_logical_devices()]


def list_local_devices(session_config=None):
    """The DeviceAttributes of the devices that sessions of this process have: CPUs, and no others ever.

    Args:
      session_config: a tf.ConfigProto, whose device_count says how many CPUs there are to be; or None.
    """
    asked = dict(session_config.device_count) if session_config is not None else {}
    return [
        DeviceAttributes(f"/device:CPU:{index}", "CPU", _CPU_MEMORY, index + 1, "")
        for index in range(asked.get("CPU", options.cpu_devices))
    ]


def get_visible_devices(device_type=None):
    """The PhysicalDevices of a type, or all, that ops may run on."""
    return list_physical_devices(device_type)


def set_visible_devices(devices, device_type=None):
    """Says on which devices ops may run: on all that there are, or on none of a type that there is not.

    Args:
      devices: a PhysicalDevice or a list of them.
      device_type: the type of which these are all; None for all types.

    Raises:
      ValueError: for a device that is not there, one of another type, or if the CPU is left out.
    """
    devices = devices if isinstance(devices, (list, set)) else [devices]
    for device in devices:
        _check_known(device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"Unrecognized device: {device!r}: it is no {device_type}")
    if device_type in (None, "CPU") and _CPU not in devices:
        raise ValueError(f"{_CPU!r} can't be left out: ops run on the CPU alone here")


def _check_known(device):
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}. There is {_CPU!r} alone")


def _check_grows(device):
    _check_known(device)
    raise ValueError(
        "Cannot set memory growth on non-GPU devices: the memory of the CPU is taken as it is needed"
    )


def get_memory_growth(device):
    """ValueError: there are no GPUs, and whether memory grows is asked of these alone."""
    _check_grows(device)


def set_memory_growth(device, enable):
    """ValueError, as get_memory_growth."""
    _check_grows(device)


def get_virtual_device_configuration(device):
    """What set_virtual_device_configuration was given for a PhysicalDevice; None if it is one device.

    Raises:
      ValueError: for a device that is not there.
    """
    _check_known(device)
    count = options.cpu_devices
    return None if count == 1 else [VirtualDeviceConfiguration() for _ in range(count)]


def set_virtual_device_configuration(device, logical_devices):
    """Makes the CPU several devices of each session that is made from now on in this process.

    Args:
      device: the PhysicalDevice of list_physical_devices("CPU").
      logical_devices: a list with a VirtualDeviceConfiguration for each device.

    Raises:
      ValueError: for a device that is not there, an empty list, or a limit of memory.
    """
    _check_known(device)
    logical_devices = list(logical_devices)
    if not logical_devices:
        raise ValueError(f"{device!r} must be at least one device, and the list is empty")
    if any(each.memory_limit is not None for each in logical_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    options.cpu_devices = len(logical_devices)

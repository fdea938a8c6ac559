"""tf.config.experimental: the devices that there are: the CPU."""

from millrace._run.listed_devices import (
    VirtualDeviceConfiguration,
    get_memory_growth,
    get_virtual_device_configuration,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_memory_growth,
    set_virtual_device_configuration,
    set_visible_devices,
)

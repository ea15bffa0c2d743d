package projections

import "ledge/domain"

// Label keeps what has the label: profiles, services, devices, provision watchers, subscriptions, notifications.
func Label(label string) Filter { return Filter{Index: domain.IndexLabel, Value: label} }

// ByProfile keeps the devices, or the provision watchers, of a profile.
func ByProfile(name string) Filter { return Filter{Index: domain.IndexProfile, Value: name} }

// ByService keeps the devices, or the provision watchers, of a device service.
func ByService(name string) Filter { return Filter{Index: domain.IndexService, Value: name} }

// Manufacturer keeps profiles.
func Manufacturer(name string) Filter { return Filter{Index: domain.IndexManufacturer, Value: name} }

// Model keeps profiles.
func Model(name string) Filter { return Filter{Index: domain.IndexModel, Value: name} }

// Category keeps the subscriptions to a category, or the notifications of one.
func Category(name string) Filter { return Filter{Index: domain.IndexCategory, Value: name} }

// Receiver keeps subscriptions.
func Receiver(name string) Filter { return Filter{Index: domain.IndexReceiver, Value: name} }

// Status keeps notifications or transmissions.
func Status(status string) Filter { return Filter{Index: domain.IndexStatus, Value: status} }

// BySubscription keeps the transmissions of a subscription, or the notifications that matched it.
func BySubscription(name string) Filter { return Filter{Index: domain.IndexSubscription, Value: name} }

// ByNotification keeps the transmissions of a notification.
func ByNotification(id string) Filter { return Filter{Index: domain.IndexNotification, Value: id} }

// ByEndpoint keeps the transmissions to an endpoint that have no outcome yet.
func ByEndpoint(endpoint string) Filter {
	return Filter{Index: domain.IndexEndpoint, Value: endpoint}
}

// ByDevice keeps the readings, or the events of core-data, of a device.
func ByDevice(name string) Filter { return Filter{Index: domain.IndexDevice, Value: name} }

// ByResource keeps readings.
func ByResource(name string) Filter { return Filter{Index: domain.IndexResource, Value: name} }

// Between keeps notifications and transmissions that were created, in milliseconds since the Unix epoch, or readings
// whose origin is, in nanoseconds, from one time to another, both included. The total of notifications costs a walk over
// all that is between.
func Between(from, to int64) Filter { return domain.Between(from, to) }

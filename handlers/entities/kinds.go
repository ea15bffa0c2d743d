package entities

import "ledge/domain"

// The kinds of entities that several services read.
var (
	Devices  = Kind[domain.Device]{domain.ListDevices, func(s domain.State) domain.Table[domain.Device] { return s.Devices }}
	Profiles = Kind[domain.Profile]{domain.ListProfiles, func(s domain.State) domain.Table[domain.Profile] { return s.Profiles }}
	Services = Kind[domain.DeviceService]{
		domain.ListServices, func(s domain.State) domain.Table[domain.DeviceService] { return s.Services },
	}
	Watchers = Kind[domain.ProvisionWatcher]{
		domain.ListWatchers, func(s domain.State) domain.Table[domain.ProvisionWatcher] { return s.Watchers },
	}
	Subscriptions = Kind[domain.Subscription]{
		domain.ListSubscriptions, func(s domain.State) domain.Table[domain.Subscription] { return s.Subscriptions },
	}
	Notifications = Kind[domain.Notification]{
		domain.ListNotifications, func(s domain.State) domain.Table[domain.Notification] { return s.Notifications },
	}
)

package console

import (
	"ledge/domain"
	"ledge/handlers/entities"
)

// The kinds of entities that pages list.
var (
	profileKind      = entities.Kind[domain.Profile]{List: domain.ListProfiles, Table: profiles}
	serviceKind      = entities.Kind[domain.DeviceService]{List: domain.ListServices, Table: services}
	watcherKind      = entities.Kind[domain.ProvisionWatcher]{List: domain.ListWatchers, Table: watchers}
	subscriptionKind = entities.Kind[domain.Subscription]{List: domain.ListSubscriptions, Table: subscriptions}
	notificationKind = entities.Kind[domain.Notification]{List: domain.ListNotifications, Table: notifications}
)

func deviceTable(s domain.State) domain.Table[domain.Device]         { return s.Devices }
func profiles(s domain.State) domain.Table[domain.Profile]           { return s.Profiles }
func services(s domain.State) domain.Table[domain.DeviceService]     { return s.Services }
func watchers(s domain.State) domain.Table[domain.ProvisionWatcher]  { return s.Watchers }
func subscriptions(s domain.State) domain.Table[domain.Subscription] { return s.Subscriptions }
func notifications(s domain.State) domain.Table[domain.Notification] { return s.Notifications }

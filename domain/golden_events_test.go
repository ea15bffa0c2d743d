package domain

import (
	"encoding/json"
	"slices"
)

// goldens says what each file of testdata/events means today.
var goldens = map[string]Event{
	"profile.added/1": ProfileAdded{Profile: goldenProfile},
	"profile.updated/1": ProfileUpdated{
		Profile: with(goldenProfile, func(d *Profile) {
			d.Description, d.DeviceCommands, d.Modified = "images and their zoom", nil, 1760000060000
		}),
		Changed: []string{"description", "deviceCommands"},
	},
	"profile.removed/1": ProfileRemoved{Profile: goldenProfile},
	"service.added/1":   ServiceAdded{Service: goldenService},
	"service.updated/1": ServiceUpdated{
		Service: with(goldenService, func(d *DeviceService) { d.AdminState, d.Modified = "LOCKED", 1760000060000 }),
		Changed: []string{"adminState"},
	},
	"service.removed/1": ServiceRemoved{Service: goldenService},
	"device.added/1":    DeviceAdded{Device: goldenDevice},
	"device.updated/1": DeviceUpdated{
		Device: with(goldenDevice, func(d *Device) {
			d.AdminState, d.Labels, d.Modified = "LOCKED", []string{"door"}, 1760000060000
		}),
		Changed: []string{"adminState", "labels"},
	},
	"device.removed/1": DeviceRemoved{Device: goldenDevice},
	"watcher.added/1":  WatcherAdded{Watcher: goldenWatcher},
	"watcher.updated/1": WatcherUpdated{
		Watcher: with(goldenWatcher, func(d *ProvisionWatcher) {
			d.Labels, d.ProfileName, d.Modified = []string{"door"}, "sample-video", 1760000060000
		}),
		Changed: []string{"labels", "profileName"},
	},
	"watcher.removed/1":    WatcherRemoved{Watcher: goldenWatcher},
	"subscription.added/1": SubscriptionAdded{Subscription: goldenSubscription},
	"subscription.updated/1": SubscriptionUpdated{
		Subscription: with(goldenSubscription, func(s *Subscription) { s.Receiver, s.Modified = "night-watch", 1760000060000 }),
		Before:       goldenSubscription,
		Changed:      []string{"receiver"},
	},
	"subscription.removed/1": SubscriptionRemoved{Subscription: goldenSubscription},
	"subscription.added/2":   SubscriptionAdded{Subscription: everyChannel},
	"subscription.updated/2": SubscriptionUpdated{
		Subscription: with(everyChannel, func(s *Subscription) { s.ResendInterval, s.Modified = "PT30S", 1760000060000 }),
		Before:       everyChannel,
		Changed:      []string{"resendInterval"},
	},
	"subscription.removed/2": SubscriptionRemoved{Subscription: everyChannel},
	"subscription.added/3":   SubscriptionAdded{Subscription: restricted},
	"subscription.removed/3": SubscriptionRemoved{Subscription: restricted},
	"device.updated/2": DevicePatched{Update{Name: "cam-1", Prev: 42, Modified: 1760000060000, Changes: Changes{
		"adminState":  {Was: json.RawMessage(`"UNLOCKED"`), Is: json.RawMessage(`"LOCKED"`)},
		"description": {Was: json.RawMessage(`"The camera at the north door"`)},
		"labels":      {At: new(1), Was: json.RawMessage(`["door"]`), Is: json.RawMessage(`["yard","street"]`)},
		"location":    {Was: json.RawMessage(`{"lat":48.2}`), Is: json.RawMessage(`[1.5,null]`)},
		"protocols": {In: Changes{
			"http": {In: Changes{
				"port": {Was: json.RawMessage(`"80"`), Is: json.RawMessage(`"8080"`)}, "user": {Is: json.RawMessage(`"u"`)},
				"host": {Was: json.RawMessage(`"10.0.0.7"`)},
			}},
			"other": {Was: json.RawMessage(`{}`)},
		}},
		"autoEvents": {In: Changes{"1": {In: Changes{"onChange": {Is: json.RawMessage(`true`)}}}}},
	}}},
	"profile.updated/2": ProfilePatched{Update{Name: "sample-image", Modified: 1760000060000, Changes: Changes{
		"deviceResources": {In: Changes{"0": {In: Changes{
			"description": {Was: json.RawMessage(`"A JPEG image"`), Is: json.RawMessage(`"An image"`)},
			"properties":  {In: Changes{"mediaType": {Was: json.RawMessage(`"image/jpeg"`), Is: json.RawMessage(`"image/png"`)}}},
			"attributes":  {Is: json.RawMessage(`{"register":40001,"swap":true}`)},
		}}}},
		"deviceCommands": {At: new(0), Was: json.RawMessage(`[{"name":"adjust","readWrite":"W","resourceOperations":[{"deviceResource":"zoom"}]}]`)},
	}}},
	"service.updated/2": ServicePatched{Update{Name: "device-rest", Prev: 7, Modified: 1760000060000, Changes: Changes{
		"lastReported": {Was: json.RawMessage(`1760000000000000002`), Is: json.RawMessage(`1760000060000000003`)},
		"labels":       {Is: json.RawMessage(`["rest"]`)},
	}}},
	"watcher.updated/2": WatcherPatched{Update{Name: "finder", Prev: 9, Modified: 1760000060000, Changes: Changes{
		"profileName":         {Was: json.RawMessage(`"sample-image"`), Is: json.RawMessage(`"sample-video"`)},
		"blockingIdentifiers": {In: Changes{"port": {At: new(2), Is: json.RawMessage(`["399"]`)}}},
	}}},
	"subscription.updated/3": SubscriptionPatched{Update{Name: "gate", Prev: 8, Modified: 1760000060000, Changes: Changes{
		"channels":    {In: Changes{"0": {In: Changes{"port": {Was: json.RawMessage(`5566`), Is: json.RawMessage(`5567`)}}}}},
		"resendLimit": {Was: json.RawMessage(`3`)},
	}}},
	"subscription.updated/4": SubscriptionPatched{Update{Name: "gate", Prev: 8, Modified: 1760000060000, Changes: Changes{
		"channels": {In: Changes{"0": {In: Changes{
			"clientKeys": {Is: json.RawMessage(`["wQmbA3Dm6zY.v@mEV+WT98:2i3u6R.3rF57PVf.m"]`)},
			"allow":      {At: new(1), Was: json.RawMessage(`["fd00::7"]`), Is: json.RawMessage(`["192.168.1.0/24","fd00::/8"]`)},
		}}}},
		"resendLimit": {Was: json.RawMessage(`3`)},
	}}},
	"user.added/1":    UserAdded{User: goldenUser},
	"user.removed/1":  UserRemoved{User: goldenUser},
	"user.updated/1":  UserUpdated{Name: "anna", Was: Operator, Role: Auditor, Modified: 1760000060000},
	"user.password/1": UserPassword{"anna", "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f77", true, 1760000060000, 0},
	"token.added/1":   TokenAdded{Token: goldenToken},
	"token.rotated/1": TokenRotated{"pos-7", "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f77", 1760086400000, 0},
	"token.removed/1": TokenRemoved{Token: goldenToken},
	"command.issued/1": CommandIssued{
		Device: "pump-1", Service: "device-modbus", Command: "start", Value: json.RawMessage(`{"pin":"(hidden)","speed":"40"}`),
		Status: 423, Message: "request failed, status code: 423, err: device pump-1 locked", Prev: 41,
	},
	"command.issued/2": CommandIssued{
		Device: "pump-1", Service: "device-modbus", Command: "start", Value: json.RawMessage(`{"pin":"(hidden)","speed":"40"}`), Prev: 41,
	},
	"command.answered/1": CommandAnswered{
		Device: "pump-1", Command: "start", Issued: 43, Status: 500,
		Message: "request failed, status code: 500, err: the motor is blocked", Prev: 44,
	},
	"samples.seeded/1":     SamplesSeeded{},
	"retention.set/1":      RetentionSet{map[string]string{"readings-max-age": "30d", "readings-max-bytes": ""}},
	"callbacks.made/1":     CallbacksMade{UpTo: 42, Behind: map[string]uint64{"device-onvif": 17, "device-modbus": 0}},
	"notification.added/1": NotificationAdded{goldenNotification},
	"sequence.lost/1":      SequenceLost{"its record is altered or cut off"},
	"notifications.raised/1": NotificationsRaised{Raised: []Raised{
		{
			Notification:  with(goldenNotification, func(n *Notification) { n.Status, n.Modified = "PROCESSED", 1760000000250 }),
			Transmissions: []Transmission{goldenTransmission}, CorrelationID: "2f1e7c7e-4c56-4b0a-8f0e-7a0d3b5c9e08",
		},
		{Notification: Notification{
			ID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", Category: "DEVICE_CHANGED", Content: "{}", Sender: "core-metadata",
			Severity: "NORMAL", Status: "PROCESSED", Created: 1760000000260, Modified: 1760000000260, Cause: 43,
		}},
	}},
	"notification.processed/1": NotificationProcessed{
		Notification:  with(goldenNotification, func(n *Notification) { n.Status, n.Modified = "PROCESSED", 1760000000250 }),
		Transmissions: []Transmission{goldenTransmission},
	},
	"notifications.replayed/1": NotificationsReplayed{Replay{
		Subscription: "gate", From: 17, Last: 42, Count: 300, Dropped: 4, More: true,
	}},
	"transmissions.resent/1": TransmissionsResent{
		Notifications: []Notification{{
			ID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", Category: "gate", Content: "open", Sender: "guard", Severity: "NORMAL",
			Status: "PROCESSED", Created: 1760000000260, Modified: 1760000900000, Open: 1,
		}},
		Transmissions: []Transmission{{
			ID: "3c9e5f0e-6f4f-4d57-9a70-6d1c0a7a1b06", NotificationID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", SubscriptionName: "alarms",
			Channel: Channel{Type: ChannelREST, Host: "example.org", Port: 443, Path: "/in", HTTPMethod: "POST"}, Status: StatusResending,
			Records: []TransmissionRecord{{Status: StatusFailed, Response: "500", Sent: 1760000000271}},
			Created: 1760000000270, Next: 1760000900000, ResentAt: 1760000900000, TriesBefore: 1,
		}},
	},
	"event.added/1": DataEventAdded{
		Event: DataEvent{
			ID: "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f01", Profile: "climate", Device: "hall-1", Source: "everything",
			Origin: 1760000000000000003, Tags: json.RawMessage(`{"site":"north"}`),
		},
		Readings: []ReadingValue{
			{Reading: Reading{
				ID: "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f02", Profile: "climate", Device: "hall-1", Resource: "temperature",
				ValueType: "Float32", Units: "°C", Size: 12, Origin: 1760000000000000001, Text: "2.150000e+01",
			}},
			{Reading: Reading{
				ID: "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f03", Profile: "climate", Device: "hall-1", Resource: "state",
				ValueType: "Object", Size: 12, Origin: 1760000000000000002,
			}, Object: json.RawMessage(`{"fan":"on"}`)},
			{Reading: Reading{
				ID: "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f04", Profile: "climate", Device: "hall-1", Resource: "image",
				ValueType: "Binary", MediaType: "image/jpeg", Size: 4, Origin: 1760000000000000003,
			}, Data: []byte{0xff, 0xd8, 0xff, 0xd9}},
			{Reading: Reading{
				ID: "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f05", Profile: "climate", Device: "hall-1", Resource: "video",
				ValueType: "Binary", MediaType: "video/mp4", Size: 5000000, Origin: 1760000000000000003,
				Digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			}},
		},
	},
	"events.removed/1": DataEventsRemoved{
		Cleanup: "events", Rule: "climate.*.image", Events: []string{"c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f01"},
	},
	"request.answered/1": RequestAnswered{
		Key: "5f0c8e6d6a9a3b1c0d2e4f60718293a4b5c6d7e8f90123456789abcdef012345", Element: 7,
		Code: "conflict", Message: `device name "cam-1" exists already; choose another name or patch the device`,
	},
	"transmission.tried/1": TransmissionTried{
		Topic: "DEVICE_CHANGED",
		Transmission: with(goldenTransmission, func(t *Transmission) {
			t.Status, t.ResendLimit, t.ResendInterval = "ESCALATED", 1, 5000
		}),
		Notification: new(with(goldenNotification, func(n *Notification) { n.Open = 2 })),
		Escalated: &Raised{
			Notification: Notification{
				ID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", Category: "DEVICE_CHANGED", Content: "[escalated] {}", Sender: "core-metadata",
				Severity: "CRITICAL", Status: "ESCALATED", Created: 1760000000260, Modified: 1760000000260, Matched: []string{"ESCALATION"}, Open: 1,
			},
			Transmissions: []Transmission{{
				ID: "5a0d6c7b-1d7d-4a35-8f0b-0c6f6b1d9e08", NotificationID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", SubscriptionName: "ESCALATION",
				Channel: Channel{Type: "ZeroMQ", Host: "*", Port: 5567, Topic: "escalated"}, Status: "RESENDING",
				Created: 1760000000260, Next: 1760000000260,
			}},
		},
	},
	"notifications.acknowledged/1": NotificationsAcknowledged{Acknowledged: true, Notifications: []Notification{
		with(goldenNotification, func(n *Notification) { n.Status, n.Modified, n.Acknowledged = "PROCESSED", 1760000000300, true }),
	}},
	"notifications.removed/1": NotificationsRemoved{
		Topic: "DEVICE_CHANGED", Notifications: []string{goldenNotification.ID, "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09"}, Transmissions: []string{goldenTransmission.ID},
	},
	"cleanup.requested/1": CleanupRequested{Cleanup{Kind: "processed", Until: 1760000000400}},
	"cleanup.finished/1":  CleanupFinished{Kind: "processed"},
	"reading.posted/1": ReadingPosted{
		Reading: Reading{
			ID: "5a0d6c7b-1d7d-4a35-8f0b-0c6f6b1d9e07", Profile: "sample-image", Device: "cam-1", Resource: "jpeg",
			ValueType: "Binary", MediaType: "image/jpeg", Size: 22, Origin: 1760000000000000003,
		},
		Value: []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"),
	},
}

var goldenProfile = Profile{
	ID: "0a7f3c58-5f6e-4c0b-9d55-6a3f0f8f5b02", Name: "sample-image", Manufacturer: "Ledge", Description: "images as binary values",
	Model: "sample", Labels: []string{"sample"}, Created: 1760000000003, Modified: 1760000000004,
	DeviceResources: []DeviceResource{
		{
			Name: "jpeg", Description: "A JPEG image", IsHidden: true, Tag: "front",
			Properties: ResourceProperties{ValueType: "Binary", ReadWrite: "R", MediaType: "image/jpeg"},
		},
		{
			Name: "zoom", Properties: ResourceProperties{
				ValueType: "Uint8", ReadWrite: "RW", Units: "percent", Minimum: "0", Maximum: "100", DefaultValue: "1", Mask: "0xFF",
				Shift: "0", Scale: "1.0", Offset: "0", Base: "10", Assertion: "1",
			},
			Attributes: map[string]any{"register": 40001.0, "table": "HOLDING", "swap": true, "range": []any{1.5, "x"}, "more": map[string]any{"unit": 1.0}},
		},
	},
	DeviceCommands: []DeviceCommand{{
		Name: "adjust", IsHidden: true, ReadWrite: "W", ResourceOperations: []ResourceOperation{
			{DeviceResource: "zoom", DefaultValue: "1", Mappings: map[string]string{"near": "1", "far": "100"}},
		},
	}},
}

var goldenDevice = Device{
	ID: "c2f1b7de-0d0e-4e83-b1de-7d2b3c1f9a03", Name: "cam-1", Description: "The camera at the north door",
	AdminState: "UNLOCKED", OperatingState: "UP", LastConnected: 1760000000000000001, LastReported: 1760000000000000002,
	Labels: []string{"indoor", "door"}, Location: json.RawMessage(`{"lat":48.2,"lon":[16.3,null]}`), ServiceName: "device-rest",
	ProfileName: "sample-image", ProtocolName: "rest",
	Protocols:  map[string]map[string]string{"other": {}, "http": {"host": "10.0.0.7", "port": "80"}},
	AutoEvents: []AutoEvent{{Interval: "10s", OnChange: true, SourceName: "jpeg"}, {Interval: "1h30m", SourceName: "zoom"}},
	Notify:     true, Created: 1760000000005, Modified: 1760000000006,
}

var goldenService = DeviceService{
	ID: "b1d0a2f4-93b0-4a4e-8f6e-2f4b8f1f3c01", Name: "device-rest", Description: "Takes data that is posted for devices",
	Labels: []string{"rest", "binary"}, BaseAddress: "http://localhost:59986", AdminState: "UNLOCKED",
	LastConnected: 1760000000000000001, LastReported: 1760000000000000002, Created: 1760000000001, Modified: 1760000000002,
}

var goldenUser = User{
	Name: "anna", Role: Operator, Credential: "0b54c1de-3cf4-4d0e-9a35-55b6a1f1e0aa", MustChange: true, Created: 1760000000000, Modified: 1760000000000,
}

var goldenToken = Token{
	Name: "pos-7", Role: Poster, Devices: []string{"cam-*", "door-1"}, Credential: "1f4cbb8e-6f30-4e5b-8e3e-7d1b2c3a4f55",
	Expires: 1767776000000, Created: 1760000000000,
}

var goldenWatcher = ProvisionWatcher{
	ID: "d7e3a1c9-5b2f-4f64-9a10-3c8e7d6b5a0a", Name: "finder", Labels: []string{"onvif", "door"},
	Identifiers:         map[string]string{"address": "10[.]0[.]0[.][0-9]+", "port": "3[0-9]{2}"},
	BlockingIdentifiers: map[string][]string{"port": {"397", "398"}}, ServiceName: "device-rest", ProfileName: "sample-image",
	AdminState: "UNLOCKED", AutoEvents: []AutoEvent{{Interval: "10s", OnChange: true, SourceName: "jpeg"}},
	Created: 1760000000009, Modified: 1760000000010,
}

var goldenSubscription = Subscription{
	ID: "e4a9d6b0-7c1f-4d21-8e6b-1f5d9c0b7a04", Name: "gate", Description: "Tells the guards when a device changes", Receiver: "guards",
	Channels:   []Channel{{Type: "ZeroMQ", Host: "*", Port: 5566, Topic: "device-changed", Publisher: "ledge"}},
	Categories: []string{"DEVICE_CHANGED"}, Labels: []string{"door"}, ResendLimit: 3, ResendInterval: "10s", AdminState: "UNLOCKED",
	Created: 1760000000007, Modified: 1760000000008,
}

var everyChannel = with(goldenSubscription, func(s *Subscription) { s.Channels = goldenChannels })

var goldenChannels = []Channel{
	{Type: "REST", Scheme: "https", Host: "till.example.com", Port: 8443, Path: "/notify?from=ledge", HTTPMethod: "PUT"},
	{
		Type: "MQTT", Scheme: "ssl", Host: "broker.example.com", Port: 8883, Topic: "alarms/door", Publisher: "ledge", QoS: 2, KeepAlive: 60,
		Retained: true, AutoReconnect: true, ConnectTimeout: 30, SecretPath: "mqtt", AuthMode: "usernamepassword", SkipCertVerify: true,
	},
	{Type: "EMAIL", Recipients: []string{"guards@example.com", "police@example.com"}},
	{Type: "ZeroMQ", Host: "*", Port: 5566, Topic: "device-changed", Publisher: "ledge"},
}

// restricted is everyChannel with a channel that restricts who receives.
var restricted = with(everyChannel, func(s *Subscription) {
	s.Channels = slices.Clone(s.Channels)
	s.Channels[3].Allow = []string{"10.0.0.0/8", "fd00::7"}
	s.Channels[3].ClientKeys = []string{"wQmbA3Dm6zY.v@mEV+WT98:2i3u6R.3rF57PVf.m", "Hk2ZGQ5F1yuJD.v4@xR93:PzMfc0Bn-8sWtq7Lae"}
})

var goldenNotification = Notification{
	ID: "f7b2c8e1-2b3c-4f5a-9c8d-0e1f2a3b4c05", Category: "DEVICE_CHANGED", Labels: []string{"door"},
	Content:     `{"deviceName":"cam-1","deviceServiceName":"device-rest","actionType":"updated","operatingState":"UP","adminState":"LOCKED"}`,
	ContentType: "application/json", Description: "Device cam-1 was updated", Sender: "core-metadata", Severity: "NORMAL", Status: "NEW",
	Created: 1760000000230, Modified: 1760000000231, Cause: 42, Matched: []string{"gate", "night-watch"},
}

var goldenTransmission = Transmission{
	ID: "3c9e5f0e-6f4f-4d57-9a70-6d1c0a7a1b06", NotificationID: goldenNotification.ID, SubscriptionName: "gate",
	Channel: goldenSubscription.Channels[0], ResendCount: 1, Status: "SENT", Created: 1760000000240,
	Records: []TransmissionRecord{
		{Status: "FAILED", Response: "bind tcp://*:5566: address already in use", Sent: 1760000000241},
		{Status: "SENT", Response: "2 subscribers", Sent: 1760000000249},
	},
}

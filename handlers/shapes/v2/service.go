package v2

import "ledge/domain"

// Service is a device service in requests and answers, with the fields of domain.DeviceService in the same order.
type Service struct {
	Created       int64    `json:"created,omitempty" patch:"-"`
	Modified      int64    `json:"modified,omitempty" patch:"-"`
	ID            string   `json:"id,omitempty"`
	Name          string   `json:"name"`
	Description   string   `json:"description,omitempty"`
	LastConnected int64    `json:"lastConnected,omitempty"`
	LastReported  int64    `json:"lastReported,omitempty"`
	Labels        []string `json:"labels,omitempty"`
	BaseAddress   string   `json:"baseAddress"`
	AdminState    string   `json:"adminState"`
}

// Entity returns the device service that a request describes; its id and times are the caller's.
func (d Service) Entity() domain.DeviceService { return domain.DeviceService(d) }

// OfService returns a device service as answers show it.
func OfService(d domain.DeviceService) Service { return Service(d) }

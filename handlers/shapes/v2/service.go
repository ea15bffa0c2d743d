package v2

import (
	"ledge/domain"
	"ledge/handlers"
)

// Service is a device service in requests and answers, with the fields of domain.DeviceService in the same order.
type Service struct {
	Created       int64    `json:"created,omitempty"`
	Modified      int64    `json:"modified,omitempty"`
	ID            string   `json:"id,omitempty"`
	Name          string   `json:"name"`
	Description   string   `json:"description,omitempty"`
	LastConnected int64    `json:"lastConnected,omitempty"`
	LastReported  int64    `json:"lastReported,omitempty"`
	Labels        []string `json:"labels,omitempty"`
	BaseAddress   string   `json:"baseAddress"`
	AdminState    string   `json:"adminState"`
}

// AddService says that a device service is to be added.
type AddService struct {
	handlers.Head
	Service Service `json:"service"`
}

// UpdateService says how a device service is to change, or did: a field that is missing or null stays as it is.
type UpdateService struct {
	handlers.Head
	Service ServicePatch `json:"service"`
}

// ServicePatch is the part of a device service that changes.
type ServicePatch struct {
	ID            *string  `json:"id"`
	Name          *string  `json:"name"`
	Description   *string  `json:"description"`
	LastConnected *int64   `json:"lastConnected"`
	LastReported  *int64   `json:"lastReported"`
	Labels        []string `json:"labels"`
	BaseAddress   *string  `json:"baseAddress"`
	AdminState    *string  `json:"adminState"`
}

// Patch returns what a request asks to be changed.
func (d ServicePatch) Patch() domain.ServicePatch { return domain.ServicePatch(d) }

// Entity returns the device service that a request describes; its id and times are the caller's.
func (d Service) Entity() domain.DeviceService {
	d.Created, d.Modified = 0, 0
	return domain.DeviceService(d)
}

// OfService returns a device service as answers show it.
func OfService(d domain.DeviceService) Service { return Service(d) }

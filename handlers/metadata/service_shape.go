package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

// serviceShape is a device service in requests and answers.
type serviceShape struct {
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

// addService is an element of POST /deviceservice.
type addService struct {
	handlers.Head
	Service serviceShape `json:"service"`
}

// updateService is an element of PATCH /deviceservice: a field that is missing or null stays as it is.
type updateService struct {
	handlers.Head
	Service servicePatchShape `json:"service"`
}

type servicePatchShape struct {
	ID            *string  `json:"id"`
	Name          *string  `json:"name"`
	Description   *string  `json:"description"`
	LastConnected *int64   `json:"lastConnected"`
	LastReported  *int64   `json:"lastReported"`
	Labels        []string `json:"labels"`
	BaseAddress   *string  `json:"baseAddress"`
	AdminState    *string  `json:"adminState"`
}

func (d servicePatchShape) patch() domain.ServicePatch { return domain.ServicePatch(d) }

type serviceAnswer struct {
	handlers.Envelope
	Service serviceShape `json:"service"`
}

type servicesAnswer struct {
	handlers.ListEnvelope
	Services []serviceShape `json:"services"`
}

// service returns the entity that a request describes; its id and times are the caller's.
func (d serviceShape) service() domain.DeviceService {
	return domain.DeviceService{
		ID: d.ID, Name: d.Name, Description: d.Description, Labels: d.Labels, BaseAddress: d.BaseAddress,
		AdminState: d.AdminState, LastConnected: d.LastConnected, LastReported: d.LastReported,
	}
}

func shapeService(d domain.DeviceService) serviceShape {
	return serviceShape{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Description: d.Description,
		LastConnected: d.LastConnected, LastReported: d.LastReported, Labels: d.Labels, BaseAddress: d.BaseAddress,
		AdminState: d.AdminState,
	}
}

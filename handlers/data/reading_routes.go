package data

import (
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

func (s service) routeReadings() {
	r := s.Routes
	device, resource := handlers.By(domain.IndexDevice, "name"), handlers.By(domain.IndexResource, "resourceName")
	const both = "/reading/device/name/:name/resourceName/:resourceName"
	r.GET("/reading/all", s.listReadings(asked(handlers.Unfiltered)))
	r.GET("/reading/device/name/:name", s.listReadings(asked(device)))
	r.GET("/reading/resourceName/:resourceName", s.listReadings(asked(resource)))
	r.GET(both, s.listReadings(asked(byDeviceResource)))
	const between = "/start/:start/end/:end"
	r.GET("/reading"+between, s.listReadings(handlers.ByTime(time.Nanosecond, handlers.Unfiltered)))
	r.GET("/reading/resourceName/:resourceName"+between, s.listReadings(handlers.ByTime(time.Nanosecond, resource)))
	r.GET(both+between, s.listReadings(handlers.ByTime(time.Nanosecond, byDeviceResource)))
	r.GET("/reading/device/name/:name"+between, s.listReadings(s.byDeviceResources))
	r.GET("/reading/count", count(s, readingKind, handlers.Unfiltered))
	r.GET("/reading/count/device/name/:name", count(s, readingKind, device))
	r.GET("/reading/id/:id/binary", handlers.WithID(s.API, s.getBinary))
	r.HEAD("/reading/id/:id/binary", handlers.WithID(s.API, s.getBinary))
}

var readingKind = handlers.Kind[domain.Reading]{List: domain.ListReadings, Table: func(s domain.State) domain.Table[domain.Reading] { return s.Readings }}

func (s service) listReadings(filter handlers.Asked) handlers.Handler {
	return list(s, "readings", readingKind, filter, (*answer).reading)
}

func byDeviceResource(c *gin.Context) []domain.Filter {
	return []domain.Filter{{Index: domain.IndexDeviceResource, Value: domain.DeviceResourceKey(c.Param("name"), c.Param("resourceName"))}}
}

// findReadings is the body of a GET by device and time, which may have none.
type findReadings struct {
	ResourceNames []string `json:"resourceNames"`
}

// byDeviceResources keeps the readings of some of a device's resources, or of all where none is named.
func (s service) byDeviceResources(c *gin.Context) ([]domain.Filter, error) {
	names, err := s.resourceNames(c)
	if err != nil {
		return nil, err
	}
	filter := handlers.By(domain.IndexDevice, "name")
	if len(names) > 0 {
		filter = func(c *gin.Context) []domain.Filter {
			keys := make([]string, len(names))
			for i, name := range names {
				keys[i] = domain.DeviceResourceKey(c.Param("name"), name)
			}
			return []domain.Filter{{Index: domain.IndexDeviceResource, Any: keys}}
		}
	}
	return handlers.ByTime(time.Nanosecond, filter)(c)
}

func (s service) resourceNames(c *gin.Context) ([]string, error) {
	if c.Request.ContentLength == 0 {
		return nil, nil
	}
	data, err := s.ReadBody(c, s.BodyBytes)
	if err != nil {
		return nil, err
	}
	room := s.EntryMemory(c)
	defer room.Release()
	if err := room.Hold(handlers.Entries(data)); err != nil {
		return nil, err
	}
	find, err := handlers.Decode[findReadings](data, handlers.JSON)
	if err != nil {
		return nil, err
	}
	if n := len(find.ResourceNames); n > domain.MaxTags {
		return nil, domain.Errorf(domain.Invalid, "resourceNames: has %d entries; use at most %d", n, domain.MaxTags)
	}
	return find.ResourceNames, nil
}

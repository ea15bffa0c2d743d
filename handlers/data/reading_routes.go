package data

import (
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	"ledge/handlers/jsonform"
)

func (s service) readingRoutes() []handlers.Route {
	device, resource := handlers.By(domain.IndexDevice, "name"), handlers.By(domain.IndexResource, "resourceName")
	const (
		ofResource = "/reading/resourceName/:resourceName"
		ofDevice   = "/reading/device/name/:name"
		ofBoth     = ofDevice + "/resourceName/:resourceName"
		between    = "/start/:start/end/:end"
		binary     = "/reading/id/:id/binary"
	)
	inTime := func(f handlers.Filter) handlers.Handler { return s.listReadings(handlers.ByTime(time.Nanosecond, f)) }
	return []handlers.Route{
		{Method: "GET", Path: "/reading/all", Right: domain.MayRead, Handle: s.listReadings(asked(handlers.Unfiltered))},
		{Method: "GET", Path: ofDevice, Right: domain.MayRead, Handle: s.listReadings(asked(device))},
		{Method: "GET", Path: ofResource, Right: domain.MayRead, Handle: s.listReadings(asked(resource))},
		{Method: "GET", Path: ofBoth, Right: domain.MayRead, Handle: s.listReadings(asked(byDeviceResource))},
		{Method: "GET", Path: "/reading" + between, Right: domain.MayRead, Handle: inTime(handlers.Unfiltered)},
		{Method: "GET", Path: ofResource + between, Right: domain.MayRead, Handle: inTime(resource)},
		{Method: "GET", Path: ofBoth + between, Right: domain.MayRead, Handle: inTime(byDeviceResource)},
		{Method: "GET", Path: ofDevice + between, Right: domain.MayRead, Handle: s.listReadings(s.byDeviceResources)},
		{Method: "GET", Path: "/reading/count", Right: domain.MayRead, Handle: count(s, readingKind, handlers.Unfiltered)},
		{Method: "GET", Path: "/reading/count/device/name/:name", Right: domain.MayRead, Handle: count(s, readingKind, device)},
		{Method: "GET", Path: binary, Right: domain.MayRead, Handle: handlers.WithID(s.API, s.getBinary)},
		{Method: "HEAD", Path: binary, Right: domain.MayRead, Handle: handlers.WithID(s.API, s.getBinary)},
	}
}

var readingKind = entities.Kind[domain.Reading]{List: domain.ListReadings, Table: func(s domain.State) domain.Table[domain.Reading] { return s.Readings }}

func (s service) listReadings(filter handlers.Asked) handlers.Handler {
	inJSON := list(s, "readings", readingKind, filter, (*answer).reading)
	return func(c *gin.Context) {
		if a := acceptedBy(c.Request.Header); a.prefersType(typeCSV, typeJSON, typeCBOR) {
			s.listCSV(c, filter, !a.noHeader)
			return
		}
		inJSON(c)
	}
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
	if err := room.Hold(jsonform.CountEntries(data)); err != nil {
		return nil, err
	}
	find, err := jsonform.Decode[findReadings](data, jsonform.JSON)
	if err != nil {
		return nil, err
	}
	if n := len(find.ResourceNames); n > domain.MaxTags {
		return nil, domain.FieldErrorf("resourceNames", "has %d entries; use at most %d", n, domain.MaxTags)
	}
	return find.ResourceNames, nil
}

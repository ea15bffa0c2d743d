package handlers

import (
	"maps"
	"slices"

	"ledge/domain"
)

// Rights of routes, beside those of roles.
const (
	public  domain.Right = "public" // needs no login
	anyRole domain.Right = "login"  // any role
)

// rights is the one table from each route of a service to the right that it needs. Routes of "" are those of all services. A route
// that is not in it is refused in secure mode.
var rights = map[string]map[domain.Right][]string{
	"": {
		public:               {"GET /api/v2/ping", "GET /api/v2/health", "POST /api/v2/login"},
		anyRole:              {"GET /api/v2/version", "GET /api/v2/openapi.yaml", "GET /api/v2/docs", "GET /api/v2/docs/:file"},
		domain.MayRead:       {"GET /api/v2/config", "GET /api/v2/metrics", "GET /metrics", "HEAD /metrics"},
		domain.MayChange:     {"POST /api/v2/secret"},
		domain.MayAdminister: {"GET " + pprofRoute},
	},
	"core-metadata": {
		domain.MayRead: {
			"GET /api/v2/device/all",
			"GET /api/v2/device/profile/name/:name",
			"GET /api/v2/device/service/name/:name",
			"GET /api/v2/device/name/:name",
			"GET /api/v2/device/check/name/:name",
			"GET /api/v2/deviceresource/profile/:name/resource/:part",
			"GET /api/v2/deviceprofile/all",
			"GET /api/v2/deviceprofile/manufacturer/:manufacturer",
			"GET /api/v2/deviceprofile/manufacturer/:manufacturer/model/:model",
			"GET /api/v2/deviceprofile/model/:model",
			"GET /api/v2/deviceprofile/name/:name",
			"GET /api/v2/deviceservice/all",
			"GET /api/v2/deviceservice/name/:name",
			"GET /api/v2/uom",
			"GET /api/v2/provisionwatcher/all",
			"GET /api/v2/provisionwatcher/profile/name/:name",
			"GET /api/v2/provisionwatcher/service/name/:name",
			"GET /api/v2/provisionwatcher/name/:name",
		},
		anyRole: {
			"GET /api/v2/user/me",
			"PUT /api/v2/user/me/password",
		},
		domain.MayAdminister: {
			"POST /api/v2/user",
			"PATCH /api/v2/user",
			"GET /api/v2/user/all",
			"GET /api/v2/user/name/:name",
			"DELETE /api/v2/user/name/:name",
			"POST /api/v2/token",
			"GET /api/v2/token/all",
			"GET /api/v2/token/name/:name",
			"DELETE /api/v2/token/name/:name",
			"POST /api/v2/token/name/:name/rotate",
		},
		domain.MayChange: {
			"POST /api/v2/device",
			"PATCH /api/v2/device",
			"DELETE /api/v2/device/name/:name",
			"PATCH /api/v2/deviceprofile/basicinfo",
			"POST /api/v2/deviceprofile/resource",
			"PATCH /api/v2/deviceprofile/resource",
			"DELETE /api/v2/deviceprofile/name/:name/resource/:part",
			"POST /api/v2/deviceprofile/deviceCommand",
			"PATCH /api/v2/deviceprofile/deviceCommand",
			"DELETE /api/v2/deviceprofile/name/:name/deviceCommand/:part",
			"POST /api/v2/deviceprofile",
			"PUT /api/v2/deviceprofile",
			"POST /api/v2/deviceprofile/uploadfile",
			"PUT /api/v2/deviceprofile/uploadfile",
			"DELETE /api/v2/deviceprofile/name/:name",
			"POST /api/v2/deviceservice",
			"PATCH /api/v2/deviceservice",
			"DELETE /api/v2/deviceservice/name/:name",
			"POST /api/v2/provisionwatcher",
			"PATCH /api/v2/provisionwatcher",
			"DELETE /api/v2/provisionwatcher/name/:name",
		},
	},
	"core-data": {
		domain.MayRead: {
			"GET /api/v2/event/id/:id",
			"GET /api/v2/event/all",
			"GET /api/v2/event/device/name/:name",
			"GET /api/v2/event/start/:start/end/:end",
			"GET /api/v2/event/count",
			"GET /api/v2/event/count/device/name/:name",
			"GET /api/v2/reading/all",
			"GET /api/v2/reading/device/name/:name",
			"GET /api/v2/reading/resourceName/:resourceName",
			"GET /api/v2/reading/device/name/:name/resourceName/:resourceName",
			"GET /api/v2/reading/start/:start/end/:end",
			"GET /api/v2/reading/resourceName/:resourceName/start/:start/end/:end",
			"GET /api/v2/reading/device/name/:name/resourceName/:resourceName/start/:start/end/:end",
			"GET /api/v2/reading/device/name/:name/start/:start/end/:end",
			"GET /api/v2/reading/count",
			"GET /api/v2/reading/count/device/name/:name",
			"GET /api/v2/reading/id/:id/binary",
			"HEAD /api/v2/reading/id/:id/binary",
		},
		domain.MayPost: {"POST /api/v2/event/:profileName/:deviceName/:sourceName"},
		domain.MayChange: {
			"DELETE /api/v2/event/id/:id",
			"DELETE /api/v2/event/device/name/:name",
			"DELETE /api/v2/event/age/:age",
		},
	},
	"device-rest": {
		domain.MayRead: {
			"GET /api/v2/device/name/:name/:command",
		},
		domain.MayPost: {"POST /api/v2/resource/:device/:resource"},
		domain.MayChange: {
			"POST /api/v2/validate/device",
			"POST /api/v2/callback/device",
			"PUT /api/v2/callback/device",
			"PUT /api/v2/callback/profile",
			"PUT /api/v2/callback/service",
			"POST /api/v2/callback/watcher",
			"PUT /api/v2/callback/watcher",
			"DELETE /api/v2/callback/device/name/:name",
			"DELETE /api/v2/callback/watcher/name/:name",
			"PUT /api/v2/device/name/:name/:command",
			"POST /api/v2/discovery",
		},
	},
	"support-notifications": {
		domain.MayRead: {
			"GET /api/v2/endpoint/all",
			"GET /api/v2/notification",
			"GET /api/v2/notification/category/:category",
			"GET /api/v2/notification/label/:label",
			"GET /api/v2/notification/status/:status",
			"GET /api/v2/notification/start/:start/end/:end",
			"GET /api/v2/notification/subscription/name/:name",
			"GET /api/v2/notification/id/:id",
			"GET /api/v2/subscription/name/:name/cursor",
			"GET /api/v2/subscription/all",
			"GET /api/v2/subscription/category/:category",
			"GET /api/v2/subscription/label/:label",
			"GET /api/v2/subscription/receiver/:receiver",
			"GET /api/v2/subscription/name/:name",
			"GET /api/v2/transmission/all",
			"GET /api/v2/transmission/status/:status",
			"GET /api/v2/transmission/start/:start/end/:end",
			"GET /api/v2/transmission/subscription/name/:name",
			"GET /api/v2/transmission/notification/id/:id",
			"GET /api/v2/transmission/id/:id",
		},
		domain.MayChange: {
			"PUT /api/v2/notification/acknowledge/ids/:ids",
			"PUT /api/v2/notification/unacknowledge/ids/:ids",
			"POST /api/v2/notification",
			"DELETE /api/v2/notification/id/:id",
			"DELETE /api/v2/notification/ids/:ids",
			"DELETE /api/v2/notification/age/:age",
			"DELETE /api/v2/transmission/age/:age",
			"DELETE /api/v2/cleanup/age/:age",
			"DELETE /api/v2/cleanup",
			"POST /api/v2/subscription/name/:name/replay",
			"POST /api/v2/subscription",
			"PATCH /api/v2/subscription",
			"DELETE /api/v2/subscription/name/:name",
		},
	},
}

// postedDevices has, for each route that needs MayPost, the parameter of its path that names the device.
var postedDevices = map[string]string{
	"POST /api/v2/event/:profileName/:deviceName/:sourceName": "deviceName",
	"POST /api/v2/resource/:device/:resource":                 "device",
}

// rightOf is rights, by service and route.
var rightOf = func() map[string]map[string]domain.Right {
	all := map[string]map[string]domain.Right{}
	for service, of := range rights {
		all[service] = map[string]domain.Right{}
		for right, routes := range of {
			for _, route := range routes {
				all[service][route] = right
			}
		}
	}
	return all
}()

// rightFor returns the right that a route of a service needs, such as "GET /api/v2/device/name/:name"; one that no role has where the
// table does not have it.
func rightFor(service, route string) domain.Right {
	if right, ok := rightOf[""][route]; ok {
		return right
	}
	return rightOf[service][route]
}

// TableRoutes lists the routes of the table of rights for a service, with the right of each; for "" those of all services.
func TableRoutes(service string) map[string]domain.Right { return maps.Clone(rightOf[service]) }

// RolesFor lists the roles that may use what needs a right of the table; nil where no login is needed.
func RolesFor(right domain.Right) (roles []domain.Role) {
	if right == public {
		return nil
	}
	return slices.DeleteFunc(domain.Roles(), func(r domain.Role) bool { return right != anyRole && !r.May(right) })
}

package web

// PageData has the data of each page of the kit.
var PageData = map[string]any{"account": accountForm{}, "again": nil, "error": nil, "list": listData{}, "login": loginForm{}}

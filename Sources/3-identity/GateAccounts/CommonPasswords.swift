// SPDX-License-Identifier: Apache-2.0

/// The passwords that are guessed first: words that many choose, their usual variations, and runs of keys.
///
/// OWASP ASVS 4.0 V2.1.7, without a file. The variations: letters in upper case, digits and signs before, after or between, look-alikes
/// such as `p4$$w0rd`, and two words in a row.
enum CommonPasswords {
    /// How many digits and signs around a word are a variation of it.
    private static let maxAround = 12
    /// How long a run of keys is at least, and how many characters that belong to none may be beside them.
    private static let (minRun, maxLoose) = (3, 3)
    /// Longer texts of runs are not guessed first.
    private static let maxRuns = 32

    /// Whether a password, in lower case, is one of them.
    static func contain(_ text: String) -> Bool {
        let characters = Array(text)
        return self.isOfRuns(characters) || self.isOfWords(characters)
    }

    // MARK: Words

    private static func isOfWords(_ text: [Character]) -> Bool {
        let leading = text.prefix { !$0.isLetter }.count
        let trailing = text.reversed().prefix { !$0.isLetter }.count
        guard leading < text.count else { return self.isOfWords(spelling: text) }
        // A digit at the edge may be read as a letter.
        for before in 0...min(leading, self.maxAround) {
            for after in 0...min(trailing, self.maxAround - before)
            where self.isOfWords(spelling: Array(text[before..<(text.count - after)])) {
                return true
            }
        }
        return false
    }

    private static func isOfWords(spelling text: [Character]) -> Bool {
        guard text.count <= 2 * self.maxWord + self.maxAround else { return false }
        let spellings = [
            text.map { self.lookAlikes[$0] ?? $0 }, text.map { $0 == "1" ? "l" : self.lookAlikes[$0] ?? $0 }, text,
        ]
        return spellings.contains { self.isOneOrTwo(String($0.filter(\.isLetter))) }
    }

    private static func isOneOrTwo(_ text: String) -> Bool {
        guard !self.words.contains(text) else { return true }
        return text.indices.contains {
            self.words.contains(String(text[..<$0])) && self.words.contains(String(text[$0...]))
        }
    }

    private static let lookAlikes: [Character: Character] = [
        "0": "o", "1": "i", "2": "z", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g",
        "@": "a", "$": "s", "!": "i", "|": "l", "+": "t", "(": "c", "€": "e", "£": "e", "&": "a",
    ]

    private static let maxWord = 16

    /// Words of the lists of leaked passwords that are published each year, most common first in each group.
    private static let words = Set(
        """
        password passwort passwords passw passwd pass motdepasse contrasena contraseña wachtwoord kennwort haslo parola senha geheim \
        secret secreto topsecret mypassword yourpassword thepassword newpassword oldpassword temppassword defaultpassword nopassword \
        passwordpassword changeme changeit changethis changepassword letmein letmeinnow openup opensesame access login signin logon \
        welcome welcomehome willkommen bienvenue bienvenido benvenuto hello helloworld hallo hallowelt bonjour hola ciao goodbye \
        admin administrator administrateur administrador superadmin sysadmin root toor user username guest default test tester testing \
        temp temporary demo example sample system server service support helpdesk manager master masterkey operator oracle database \
        internet computer windows microsoft google facebook linkedin apple android samsung iphone nokia cisco dell lenovo linux ubuntu \
        iloveyou iloveu loveyou lovelove loveme ilove love lover lovely loveyou mylove truelove forever foreverlove tequiero teamo amor \
        amorcito jetaime ichliebedich sweetheart honey baby babygirl babyboy princess prince princesa prinzessin queen king kingdom \
        angel angels angelito heaven jesus jesuschrist christ christian jesuslovesme godisgood godbless blessed faith trustnoone \
        trustno sunshine moonlight starlight rainbow butterfly flower flowers sunflower blossom cherry orange banana strawberry \
        chocolate chocolat cookie cookies cupcake pumpkin pepper ginger peanut coffee cheese pizza hamburger \
        dragon dragons dragonball monkey tiger lion eagle falcon panther leopard wolf wolves horse ponies puppy kitty kitten hellokitty \
        mustang ferrari porsche mercedes corvette harley yamaha honda toyota chevrolet camaro bigdog rabbit dolphin turtle penguin \
        spider phoenix unicorn \
        football baseball basketball softball soccer hockey tennis golf golfer running swimming skater skateboard snowboard futbol \
        fussball liverpool liverpoolfc chelsea arsenal manchester manutd barcelona realmadrid juventus bayern dortmund schalke lakers \
        yankees cowboys steelers packers redsox eagles raiders patriots broncos bulldogs dolphins rangers \
        superman batman spiderman ironman wonderwoman catwoman starwars startrek skywalker darthvader pokemon pikachu naruto minecraft \
        fortnite roblox playstation nintendo supermario zelda matrix gandalf hobbit harrypotter hogwarts hermione voldemort snoopy \
        garfield mickey mickeymouse minnie donald donaldduck tinkerbell winnie scooby scoobydoo simpsons metallica nirvana slipknot \
        eminem blink michael michaeljackson michelle jennifer jessica jessie ashley amanda nicole daniel danielle charlie charlotte \
        thomas robert william richard matthew anthony andrew joshua jordan george hannah samantha elizabeth stephanie patrick alexander \
        alexandra sebastian benjamin nicholas christopher victoria veronica carlos alejandro fernando maria sophie marie julia laura \
        martin maximilian sabrina vanessa melissa \
        summer winter spring autumn fall sommer fruehling frühling herbst ete automne hiver printemps verano invierno primavera otono \
        january february march april june july august september october november december januar februar mai juni juli oktober \
        dezember janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre enero febrero abril mayo junio julio agosto \
        septiembre octubre noviembre diciembre monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch \
        donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes \
        sabado domingo birthday christmas halloween easter holiday holidays weekend vacation today tomorrow \
        whatever nothing anything something everything guardian gateway freedom liberty america american england london paris berlin \
        germany deutschland france espana spain mexico canada australia california florida texas chicago newyork boston dallas \
        hunter killer warrior soldier sniper ranger captain sailor pirate ninja samurai wizard magic magician mystery shadow darkness \
        thunder lightning diamond silver golden goldfish crystal emerald platinum purple yellow maverick gunner rocket rockstar guitar \
        playboy cowboy gangster badboy biteme fuckyou fuckme fuckoff asshole bullshit pussy sexy sexygirl naked hardcore porn \
        money dollar lucky winner loser success business company school student teacher college university office homework \
        family friend friends bestfriend myfamily mother father brother sister daddy mommy mama papa children smile happy happiness \
        beautiful handsome crazy awesome perfect special precious peace power energy dream dreams future paradise \
        hottie cutie bubbles buster cheyenne jasmine scorpion mercury jupiter saturn galaxy universe rainbows yourmom whocares \
        iamgod iamthebest numberone thebest please pleaseletmein security secure private personal keyboard qwerty qwertz azerty abc abcd
        """.split(separator: " ").map(String.init)
    )

    // MARK: Runs of keys

    /// The rows and columns of keyboards, the alphabet and the digits.
    private static let rows: [String] = {
        let rows = [
            "12345678901234567890", "0123456789", "abcdefghijklmnopqrstuvwxyzabc", "qwertyuiop", "qwertzuiop",
            "azertyuiop", "asdfghjkl",
            "qsdfghjklm", "zxcvbnm", "yxcvbnm", "wxcvbn", "qazwsxedcrfvtgbyhnujmikolp",
            "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
            "1q2w3e4r5t6y7u8i9o0p", "1q2w3e4r5t6z7u8i9o0p", "1a2b3c4d5e6f7g8h9i", "a1b2c3d4e5f6g7h8i9",
            "q1w2e3r4t5y6u7i8o9p0",
            "!@#$%^&*()", "!\"§$%&/()=", "qweasdzxc", "147258369", "159753",
        ]
        return rows + rows.map { String($0.reversed()) }
    }()

    /// Whether a text is of runs, nearly without other characters.
    private static func isOfRuns(_ text: [Character]) -> Bool {
        guard text.count <= self.maxRuns else { return false }
        var (start, loose) = (0, 0)
        while start < text.count {
            var length = 0
            while start + length < text.count {
                let run = String(text[start...(start + length)])
                guard self.rows.contains(where: { $0.contains(run) }) else { break }
                length += 1
            }
            // The same key again and again is a run as well.
            let same = text[start...].prefix { $0 == text[start] }.count
            let longest = max(length, same)
            guard longest >= self.minRun else {
                loose += 1
                guard loose <= self.maxLoose else { return false }
                start += 1
                continue
            }
            start += longest
        }
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

/// Responses for the challenge 0, 1, … 31 that Tests/EndToEnd/support/passkey_vectors.py made and an independent implementation verified.
enum Vectors {
    static let es256Registration = """
        {"id":"DCQCYj1EYAhLk2ZNbOnn7TnQjVi4F9yBWgfUXRf20yo","rawId":"DCQCYj1EYAhLk2ZNbOnn7TnQjVi4F9yBWgfUXRf20yo","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViko3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd\
        7v8AIAwkAmI9RGAIS5NmTWzp5-050I1YuBfcgVoH1F0X9tMqpQECAyYgASFYINB9OLoa7S5-CaWZ76Kqk8BzZAnWwBd1_lpuZIRbflBIIlgg\
        bcUDXqpukm3_LYd3lG0nJ8a53ZYCRsepdqecy1c-GtQ","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGU\
        dFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIAwkAmI9RGAIS5NmTWzp5-050I1YuBfcgVoH1F0X9tMqpQECAyYgASFYINB9OLoa7S5-CaWZ76Kqk8\
        BzZAnWwBd1_lpuZIRbflBIIlggbcUDXqpukm3_LYd3lG0nJ8a53ZYCRsepdqecy1c-GtQ","transports":["internal","hybrid"],"p\
        ublicKeyAlgorithm":-7}}
        """

    static let es256Assertion = """
        {"id":"DCQCYj1EYAhLk2ZNbOnn7TnQjVi4F9yBWgfUXRf20yo","rawId":"DCQCYj1EYAhLk2ZNbOnn7TnQjVi4F9yBWgfUXRf20yo","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"MEUCIQClaDFuu8jJrlezboTQkWyKEtqBTRlvYLUv41hvODU\
        ZTQIgJ1LzDv1IYjfHzUhzVWAfn9jE3b2DmrPRaVwYJhL0WAo","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let edDSARegistration = """
        {"id":"zhLX-8HfDrawvXTKa5Ip9FBUAaPnzLJ9pnQGIz4Yo30","rawId":"zhLX-8HfDrawvXTKa5Ip9FBUAaPnzLJ9pnQGIz4Yo30","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViBo3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd\
        7v8AIM4S1_vB3w62sL10ymuSKfRQVAGj58yyfaZ0BiM-GKN9pAEBAycgBiFYIN4c61p3-ic2cokKJJVke_cpNg2hpykNToiuTLy4fKnE","a\
        uthenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIM4S1_vB3w62sL10y\
        muSKfRQVAGj58yyfaZ0BiM-GKN9pAEBAycgBiFYIN4c61p3-ic2cokKJJVke_cpNg2hpykNToiuTLy4fKnE","transports":["internal\
        ","hybrid"],"publicKeyAlgorithm":-8}}
        """

    static let edDSAAssertion = """
        {"id":"zhLX-8HfDrawvXTKa5Ip9FBUAaPnzLJ9pnQGIz4Yo30","rawId":"zhLX-8HfDrawvXTKa5Ip9FBUAaPnzLJ9pnQGIz4Yo30","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"Q3iahPUQ96_mqLhGHCtInfndRg__Smkk5sI1HwCUn_8aQ7Q\
        A54lZ8URqqHAA45s8i-ax9lHb4KqvuOwFuv-FAw","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let rs256Registration = """
        {"id":"W89R9JzJzuqzngWlP4qsp29Kdh4AMMXG6Q3cQOFb0n4","rawId":"W89R9JzJzuqzngWlP4qsp29Kdh4AMMXG6Q3cQOFb0n4","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVkBZ6N5pvbur7mlXjeMEYA04nUeaC-rny0wqxPSElWGzhlHRQAAAAEAESIzRFVmd4iZqrvM\
        3e7_ACBbz1H0nMnO6rOeBaU_iqynb0p2HgAwxcbpDdxA4VvSfqQBAwM5AQAgWQEAqLvpzip4ppN_EUd7g--w2JWlboAFfBMqYTj_pCLMMJnH\
        ByCJZEjStxqglripO8ik4nf6BEK69o8HoCk_hEL_z68h3pFzSbpVRnuWIoZyMAgQG_wOj8FJy3X1e185AQFwew0a4NdIKcq6xGLTd2FZWbaZ\
        izbxe_fEaH0gOpOVVtT8XBs792ZwHqy-f_ucOTs6pBKZ8-7lfLBG5SFhdtuByPzXHh2nUDr_TblvVLdNSaf-IoWt5EkVnbhaeLBqkGm_9Kuq\
        B2dqDw0CIUZ6nXSuWutebk0zehTSnVpAgi6Ly9tFQoYOEhk0QQdqCGjVUd6Di80C7p1fVc_tj2iIuOaT_SFDAQAB","authenticatorData\
        ":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIFvPUfScyc7qs54FpT-KrKdvSnYeADDFx\
        ukN3EDhW9J-pAEDAzkBACBZAQCou-nOKnimk38RR3uD77DYlaVugAV8EyphOP-kIswwmccHIIlkSNK3GqCWuKk7yKTid_oEQrr2jwegKT-EQ\
        v_PryHekXNJulVGe5YihnIwCBAb_A6PwUnLdfV7XzkBAXB7DRrg10gpyrrEYtN3YVlZtpmLNvF798RofSA6k5VW1PxcGzv3ZnAerL5_-5w5O\
        zqkEpnz7uV8sEblIWF224HI_NceHadQOv9NuW9Ut01Jp_4iha3kSRWduFp4sGqQab_0q6oHZ2oPDQIhRnqddK5a615uTTN6FNKdWkCCLovL2\
        0VChg4SGTRBB2oIaNVR3oOLzQLunV9Vz-2PaIi45pP9IUMBAAE","transports":["internal","hybrid"],"publicKeyAlgorithm":\
        -257}}
        """

    static let rs256Assertion = """
        {"id":"W89R9JzJzuqzngWlP4qsp29Kdh4AMMXG6Q3cQOFb0n4","rawId":"W89R9JzJzuqzngWlP4qsp29Kdh4AMMXG6Q3cQOFb0n4","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"LAm0upFDib8zwnU9NBTq_ZbeY9m8o_-He_zxwdplUh1xv6D\
        UHwgzNmQ1cCKbjqYzvqO2bPGAObX_E0XrWF8vX92ADwo6F_WyE40z5A_ygJeAcQ3YNovxZfrEilhEThxLcpR99dcmecZHF0j7CwM_oc9MKtK\
        dY24ntRnWU26ZuDR3-lX8Got06LDU0zwv6fDNtC0oPfT06_TtG5FL0DVDKA7H5UsX-rVbmG_ob6Th9xFgmMrlkPaAhHV_L0vt6u5nvf039U6\
        GWsOGaQZedcl1XVGNY7gjR3jne_Uug4CP1gbvLZlCjEYyL8phFXVqhRcaibe5kM_7qbYDgUpRQym5bQ","userHandle":"dXNlci1oYW5kb\
        GUtMDAwMQ"}}
        """

    static let es256PackedRegistration = """
        {"id":"IK_58ujv0_uSJJuQDcZNQwB2EUW639NzmrZ9ljdwrso","rawId":"IK_58ujv0_uSJJuQDcZNQwB2EUW639NzmrZ9ljdwrso","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSiY2FsZyZjc2lnWEcwRQIgMZX33Z5ZQBqiW-VeRqE8JwGq7k5D9yPMbb8supVCe5oCIQCt1tl5XFomDHfP\
        Hm8kr9m8Z_4xz2ErUqdyAvd8KeH052hhdXRoRGF0YViko3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmq\
        u8zd7v8AICCv-fLo79P7kiSbkA3GTUMAdhFFut_Tc5q2fZY3cK7KpQECAyYgASFYIJ_LB2ZHVePRZ3CcY-rRZANHcmPREPYlCgON1aCNa619\
        IlggqHrji6cSSqxab3aUp4WH-Fe-CNmDE7DyRtUOmtfuPgM","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVY\
        bOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AICCv-fLo79P7kiSbkA3GTUMAdhFFut_Tc5q2fZY3cK7KpQECAyYgASFYIJ_LB2ZHVePRZ3CcY-\
        rRZANHcmPREPYlCgON1aCNa619IlggqHrji6cSSqxab3aUp4WH-Fe-CNmDE7DyRtUOmtfuPgM","transports":["internal","hybrid"\
        ],"publicKeyAlgorithm":-7}}
        """

    static let es256PackedAssertion = """
        {"id":"IK_58ujv0_uSJJuQDcZNQwB2EUW639NzmrZ9ljdwrso","rawId":"IK_58ujv0_uSJJuQDcZNQwB2EUW639NzmrZ9ljdwrso","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"MEUCIQCxVw5eijXWI8uZfelIN6o3fF6eya79S6fbGDQQlcy\
        9pwIgC6eatd7g9jVfNy_QqiEKpO8hmyFnd-XOlZFehTZShj8","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let edDSAPackedRegistration = """
        {"id":"7cmQvCf4eLPtQrOtIsCXvQ-Br4LWl--2Cd9oXEiPCYg","rawId":"7cmQvCf4eLPtQrOtIsCXvQ-Br4LWl--2Cd9oXEiPCYg","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSiY2FsZydjc2lnWECXEKYoyA1xLjrrNULPTftm2yV-nRn6O1RI9Anln1oJ7S1a9ezULb3pwE7sVMbpNUGV\
        hGCi8o9ByzQtLbEz7_YMaGF1dGhEYXRhWIGjeab27q-5pV43jBGANOJ1Hmgvq58tMKsT0hJVhs4ZR0UAAAABABEiM0RVZneImaq7zN3u_wAg\
        7cmQvCf4eLPtQrOtIsCXvQ-Br4LWl--2Cd9oXEiPCYikAQEDJyAGIVgg1NwNNLhab6hkGcUie81Qgf1J31nFIN_gpuwh1SBrV0g","authen\
        ticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIO3JkLwn-Hiz7UKzrSLAl7\
        0Pga-C1pfvtgnfaFxIjwmIpAEBAycgBiFYINTcDTS4Wm-oZBnFInvNUIH9Sd9ZxSDf4KbsIdUga1dI","transports":["internal","hy\
        brid"],"publicKeyAlgorithm":-8}}
        """

    static let edDSAPackedAssertion = """
        {"id":"7cmQvCf4eLPtQrOtIsCXvQ-Br4LWl--2Cd9oXEiPCYg","rawId":"7cmQvCf4eLPtQrOtIsCXvQ-Br4LWl--2Cd9oXEiPCYg","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"ELgkhYyrtWBXycVMDhh-e6nxywf5DJ6ddRsh5xFMvdkXe6K\
        OLu4-rnpkd6dyg86Xi-VFXevDdlBNudbE4EDhDw","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let rs256PackedRegistration = """
        {"id":"Nqsni_rQUEvjMjYN07WHhdwGbNWkFH7TqB8PHcAOHz4","rawId":"Nqsni_rQUEvjMjYN07WHhdwGbNWkFH7TqB8PHcAOHz4","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSiY2FsZzkBAGNzaWdZAQAiBmO0RwJ_oGh03ZXf51whpofKbDZVMJ5ogYhs8tX5aMIY3WqzWJ42aVAL03H-\
        AAzFMIwULw5bzJm9hFGrPP5LA-T1lUUIvdipVlohzo6dnzoyxkGzADuw6U_ZELqOBlObNI1OTUKm0ApThI1e6tf6oSTkvHn39ULqUR7AVgET\
        1eGm10VaCePYVqzvT8qSva_L-iTwL9YcCrpNXPUJOTaGWySUQsjbjaLIDEzeUK5SXACTIfkv-Qa0R2WyQYHU4DQt_4IFcGU-tGcPWpk1GzhR\
        6OpvAbyQaT1ViV6PhqKsvh9THNu2qN7L6SpsXAp4-oCcyXcJs1XnEOBdKWPMriO-aGF1dGhEYXRhWQFno3mm9u6vuaVeN4wRgDTidR5oL6uf\
        LTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIDarJ4v60FBL4zI2DdO1h4XcBmzVpBR-06gfDx3ADh8-pAEDAzkBACBZAQCn9bc7\
        8Pt7iyzNxHzf4VtDx9dzLxOW3t6lW_qFLlKWqp7J-yDi2jfKPL3SNXv8jd8Mfv6WgJWXnlhI7EC7dY0P9Jux41R_OfsLUNpR3CvzClLDMfGD\
        zOG0o3Jm3Cfr513rolcK6JNxXtG0Prhk7egpZA_JiJUMhe7Oa0m2SFCdJqXMJeBR6WL-oQrNdZdRQmRwZvCX2WVNMGyJbsjZ82XaDktc8vyj\
        oHFiUTwjpAe8KSsyImgU1_pUrB-qEXmorvLG5EKj7z5njgPW2BbyB9L-N9isJ8rA6C75SK-hZSYkide-TXapp9V7BDRbCasIBy5xDc7nUEg8\
        tlySmtoT8_hLIUMBAAE","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8\
        zd7v8AIDarJ4v60FBL4zI2DdO1h4XcBmzVpBR-06gfDx3ADh8-pAEDAzkBACBZAQCn9bc78Pt7iyzNxHzf4VtDx9dzLxOW3t6lW_qFLlKWqp\
        7J-yDi2jfKPL3SNXv8jd8Mfv6WgJWXnlhI7EC7dY0P9Jux41R_OfsLUNpR3CvzClLDMfGDzOG0o3Jm3Cfr513rolcK6JNxXtG0Prhk7egpZA\
        _JiJUMhe7Oa0m2SFCdJqXMJeBR6WL-oQrNdZdRQmRwZvCX2WVNMGyJbsjZ82XaDktc8vyjoHFiUTwjpAe8KSsyImgU1_pUrB-qEXmorvLG5E\
        Kj7z5njgPW2BbyB9L-N9isJ8rA6C75SK-hZSYkide-TXapp9V7BDRbCasIBy5xDc7nUEg8tlySmtoT8_hLIUMBAAE","transports":["in\
        ternal","hybrid"],"publicKeyAlgorithm":-257}}
        """

    static let rs256PackedAssertion = """
        {"id":"Nqsni_rQUEvjMjYN07WHhdwGbNWkFH7TqB8PHcAOHz4","rawId":"Nqsni_rQUEvjMjYN07WHhdwGbNWkFH7TqB8PHcAOHz4","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"Qm3k7jSwRaBJ9qIJwVNPV5XDFxfF_AhsAUNkO_meEsKHY7d\
        -MxeXyDz8pHtFp9ggWS4MscV5EPPRQCX5QGIgbt844JZaC29NbMdnlB8-CLy0AItCYpB_NKKXG8pzWhxYczCdp5FDG6mXAx5Jw5cUxr-JBeg\
        aAY5OGFtR6PjXV0v8SIEld3M1xD-GNqpjEIRuAKy2E_QWyGFvfZmPHcYemUOcROaj47FSFpUVBRTC3J77yEUy1-YeLvGk0Wh0m4QIU_Ps-Om\
        -qQuq6DZ8KRtQNaxenDpoi6IX-ZOeJ5bMzjTCSurYE9JodyDvwbhLM7iatQKSG48H6LkJWxN8I8v-EQ","userHandle":"dXNlci1oYW5kb\
        GUtMDAwMQ"}}
        """

    static let es256CertifiedRegistration = """
        {"id":"_DVddXauGOGlakSpwn2bXBSOfZCFQOqLkF6RW6fwN-4","rawId":"_DVddXauGOGlakSpwn2bXBSOfZCFQOqLkF6RW6fwN-4","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEgwRgIhAOEIsQyLpEIUzhBpOOzNq49UKmGVyfTHZ6ohXHcdAXN2AiEA5Y52Cjx0ldI0\
        ZugA1QizNOWRdJnN3hmSkJvR4ZKgyBpjeDVjgVkB0TCCAc0wggFyoAMCAQICAQEwCgYIKoZIzj0EAwIwVTELMAkGA1UEBhMCREUxDTALBgNV\
        BAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24xEzARBgNVBAMMClRlc3QgTW9kZWwwHhcNMjUwMTAxMDAwMDAw\
        WhcNNDkwODIzMDAwMDAwWjBVMQswCQYDVQQGEwJERTENMAsGA1UECgwEVGVzdDEiMCAGA1UECwwZQXV0aGVudGljYXRvciBBdHRlc3RhdGlv\
        bjETMBEGA1UEAwwKVGVzdCBNb2RlbDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOIJP2RHaViaGoagpOyiI7TpWp7oYf42YVWZy1hqA6lX\
        laEpyEkjYVuHrK74rPoYAGDlvXWRmlpj1fn8UpLQb22jMzAxMAwGA1UdEwEB_wQCMAAwIQYLKwYBBAGC5RwBAQQEEgQQABEiM0RVZneImaq7\
        zN3u_zAKBggqhkjOPQQDAgNJADBGAiEAl9dR02g5gg60z8HyKzRI7ibQd1KKLb8uxyIu9LbS2qICIQCssnXoVuj5iUvdwmhK_-yRle3BcCmL\
        DklV40zPsZGeN2hhdXRoRGF0YViko3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIPw1XXV2\
        rhjhpWpEqcJ9m1wUjn2QhUDqi5BekVun8DfupQECAyYgASFYIFbDasX4bo2fSt2SARikuYGcZINqEZmbP2wYxsPZZoKPIlggs0gK7wk8Q59G\
        F36l7d5Be78xMudHUFFYJOQHtmY0lM0","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIj\
        NEVWZ3iJmqu8zd7v8AIPw1XXV2rhjhpWpEqcJ9m1wUjn2QhUDqi5BekVun8DfupQECAyYgASFYIFbDasX4bo2fSt2SARikuYGcZINqEZmbP2\
        wYxsPZZoKPIlggs0gK7wk8Q59GF36l7d5Be78xMudHUFFYJOQHtmY0lM0","transports":["internal","hybrid"],"publicKeyAlgo\
        rithm":-7}}
        """

    static let es256CertifiedAssertion = """
        {"id":"_DVddXauGOGlakSpwn2bXBSOfZCFQOqLkF6RW6fwN-4","rawId":"_DVddXauGOGlakSpwn2bXBSOfZCFQOqLkF6RW6fwN-4","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"MEUCIQDr7tD6PUWfkZ5IKH7RawnQXYUCAL0LqzYA49Jl0rO\
        8CAIgHREe8YSV8yxlYes-hkG-ZC2CUXN6rEKQUgSzSxwT15U","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let rs256CertifiedRegistration = """
        {"id":"KDsyTyaTjwBsiBoYlMZ3FTrGZ-0EtqJyKZGR1oFObKE","rawId":"KDsyTyaTjwBsiBoYlMZ3FTrGZ-0EtqJyKZGR1oFObKE","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEYwRAIgJ8M3yHARXNji0yLkG1NzdK6ABL24xUUqqQBzToTEzfkCIBOWIEQeDmlyx21a\
        sFAVFA1FFRCmGhlgs223kC7brHHwY3g1Y4FZAdEwggHNMIIBcqADAgECAgEBMAoGCCqGSM49BAMCMFUxCzAJBgNVBAYTAkRFMQ0wCwYDVQQK\
        DARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMRMwEQYDVQQDDApUZXN0IE1vZGVsMB4XDTI1MDEwMTAwMDAwMFoX\
        DTQ5MDgyMzAwMDAwMFowVTELMAkGA1UEBhMCREUxDTALBgNVBAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24x\
        EzARBgNVBAMMClRlc3QgTW9kZWwwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASpBAdAjD5a7eHk1WgbtuW-IpEmwiylV_9SBl9unEa0Y8hz\
        h1IStVD7hWZNC2qIQdFv8OGLoEWSu07XxFL5FJ_XozMwMTAMBgNVHRMBAf8EAjAAMCEGCysGAQQBguUcAQEEBBIEEAARIjNEVWZ3iJmqu8zd\
        7v8wCgYIKoZIzj0EAwIDSQAwRgIhAI3Ilxx-Dm-rAmfuyyh5hITPDVnOTgcYmsMPN_BXjtGMAiEAyPNQI5O9zUDfVaUQtOIVYRGiKKw4UrH7\
        UKP57RS3315oYXV0aERhdGFZAWejeab27q-5pV43jBGANOJ1Hmgvq58tMKsT0hJVhs4ZR0UAAAABABEiM0RVZneImaq7zN3u_wAgKDsyTyaT\
        jwBsiBoYlMZ3FTrGZ-0EtqJyKZGR1oFObKGkAQMDOQEAIFkBAKun2ETBfUzz9r2ATRjyHGryPbUb2fZ1vACVzCnh_jkGB_DZ48-tfZeqyz_m\
        iYf8MRwCY5C5McgNEIC0f2sOzfMQVH_UpITYC3AnfBZwIQjB9aS2aGdlnEPswDLuGp_8SDjvTTJAlHewlGJuqRMeInq9AqEXSF5XhoQgjmhu\
        3q6oMlGNrnAXktV15VKfB_VDi0LswNZckoqtrhiE6DlokMlqqtMN1K5BYThcjJHSGHv3JzZGzEFYRmw884mmwQV-WXv9lyF2zxgKDLWyV5I2\
        sJGUfka4d-v_mI1JfOrBhIKMf_Q3v8fZB-VGTYhze30bW07RGk7zrj-OjcbleV-dbTshQwEAAQ","authenticatorData":"o3mm9u6vuaV\
        eN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AICg7Mk8mk48AbIgaGJTGdxU6xmftBLaicimRkdaBTmyhpAE\
        DAzkBACBZAQCrp9hEwX1M8_a9gE0Y8hxq8j21G9n2dbwAlcwp4f45Bgfw2ePPrX2Xqss_5omH_DEcAmOQuTHIDRCAtH9rDs3zEFR_1KSE2At\
        wJ3wWcCEIwfWktmhnZZxD7MAy7hqf_Eg4700yQJR3sJRibqkTHiJ6vQKhF0heV4aEII5obt6uqDJRja5wF5LVdeVSnwf1Q4tC7MDWXJKKra4\
        YhOg5aJDJaqrTDdSuQWE4XIyR0hh79yc2RsxBWEZsPPOJpsEFfll7_Zchds8YCgy1sleSNrCRlH5GuHfr_5iNSXzqwYSCjH_0N7_H2QflRk2\
        Ic3t9G1tO0RpO864_jo3G5XlfnW07IUMBAAE","transports":["internal","hybrid"],"publicKeyAlgorithm":-257}}
        """

    static let rs256CertifiedAssertion = """
        {"id":"KDsyTyaTjwBsiBoYlMZ3FTrGZ-0EtqJyKZGR1oFObKE","rawId":"KDsyTyaTjwBsiBoYlMZ3FTrGZ-0EtqJyKZGR1oFObKE","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"Bhy-NiV7isG2f7XbUh5YanXxo0P-l3JSnMZ0VGSe6E3yfsy\
        EKKlHLFnNUD9LgGDUXafd1Sn4Be1-U9014eXZjUxwKyHoOEjmzmIZnBE_wNgZ5sgw01SqKVNmQJzqMXhmsnZ0MD4eqepp7hExLNTMqUq6gx9\
        KMhJbySoeTrGlP-Bogp1oioSG0_-zpCW6YKV5C14yP7L0mb9jwNDSbba5hSL3M0yBvJuIksqxo-ziN6XZqY2vGXkmwOl9UWLpfjcYoHz3N_L\
        yIIWbgGMSjGIkHWYpaK-472dK-bdpsvSf5TFlVM9NGR7L-1hJpKjmzgf49J9-RfQW16SY_DWsg_OLlw","userHandle":"dXNlci1oYW5kb\
        GUtMDAwMQ"}}
        """

    static let syncedRegistration = """
        {"id":"Da9gKTQpAxJ4XE6gOk-wddUqOyFqg2C__WAGQZMX24E","rawId":"Da9gKTQpAxJ4XE6gOk-wddUqOyFqg2C__WAGQZMX24E","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViko3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUddAAAAAQARIjNEVWZ3iJmqu8zd\
        7v8AIA2vYCk0KQMSeFxOoDpPsHXVKjshaoNgv_1gBkGTF9uBpQECAyYgASFYIHyuYBJCPQBNprhLhzt7M-w8abAXlbgTV8WAeRQDvYR9Ilgg\
        zSM21oOFqE5yYiJjVjpRG8PT5BQeU6s8RvRJSkRrs1c","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGU\
        ddAAAAAQARIjNEVWZ3iJmqu8zd7v8AIA2vYCk0KQMSeFxOoDpPsHXVKjshaoNgv_1gBkGTF9uBpQECAyYgASFYIHyuYBJCPQBNprhLhzt7M-\
        w8abAXlbgTV8WAeRQDvYR9IlggzSM21oOFqE5yYiJjVjpRG8PT5BQeU6s8RvRJSkRrs1c","transports":["internal","hybrid"],"p\
        ublicKeyAlgorithm":-7}}
        """

    static let syncedAssertion = """
        {"id":"Da9gKTQpAxJ4XE6gOk-wddUqOyFqg2C__WAGQZMX24E","rawId":"Da9gKTQpAxJ4XE6gOk-wddUqOyFqg2C__WAGQZMX24E","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcdAAAAAg","signature":"MEQCICrft7AIZzNSSX_7aK7B4Rl-8QYHFKIo5Tj4rS-updK\
        ZAiBeuMJB-YvMCUVjlYxh8RKNvD__Z8dy6GTyN_a0QKNV2A","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let extendedRegistration = """
        {"id":"b753GWilXzCjFGZQFDiM4qy8Vjs_1lTFcrpd_7wpd9Y","rawId":"b753GWilXzCjFGZQFDiM4qy8Vjs_1lTFcrpd_7wpd9Y","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVi_o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUfFAAAAAQARIjNEVWZ3iJmqu8zd\
        7v8AIG--dxlopV8woxRmUBQ4jOKsvFY7P9ZUxXK6Xf-8KXfWpQECAyYgASFYIEl8R8RUSOYyj9w4N7T2dJ8aOkrl47WYHEhLTaveXC_YIlgg\
        44rQYpsXCOFCjn55mZDB6_PMgs12OHRRLFkpi0owG9aia2NyZWRQcm90ZWN0AmtobWFjLXNlY3JldPU","authenticatorData":"o3mm9u\
        6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUfFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIG--dxlopV8woxRmUBQ4jOKsvFY7P9ZUxXK6Xf-8KX\
        fWpQECAyYgASFYIEl8R8RUSOYyj9w4N7T2dJ8aOkrl47WYHEhLTaveXC_YIlgg44rQYpsXCOFCjn55mZDB6_PMgs12OHRRLFkpi0owG9aia2\
        NyZWRQcm90ZWN0AmtobWFjLXNlY3JldPU","transports":["internal","hybrid"],"publicKeyAlgorithm":-7}}
        """

    static let extendedAssertion = """
        {"id":"b753GWilXzCjFGZQFDiM4qy8Vjs_1lTFcrpd_7wpd9Y","rawId":"b753GWilXzCjFGZQFDiM4qy8Vjs_1lTFcrpd_7wpd9Y","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEh\
        oOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","authenticatorData":"o3mm\
        9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg","signature":"MEQCIBoJk6jjSTgFKBdPjA8lIn6We5rPpcVTnorFGxjtpOZ\
        iAiAvq_bysuiQ05xWVoOI3U83axTtUWQuwQpNPH-UnCm54w","userHandle":"dXNlci1oYW5kbGUtMDAwMQ"}}
        """

    static let otherModel = """
        {"id":"ehvuCEda9uON0ABy8wc9Xbg6FFOqfStqlGOwjO90mKA","rawId":"ehvuCEda9uON0ABy8wc9Xbg6FFOqfStqlGOwjO90mKA","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEYwRAIgZlJYTo2yO5NjXhwFKEAcMmTNz68oKpZsD-i1jhREn7QCIBAoyVLJsTZEvEBP\
        hNQ9G3WZFTHrD2oaec4AsTdVjI09Y3g1Y4FZAdAwggHMMIIBcqADAgECAgEBMAoGCCqGSM49BAMCMFUxCzAJBgNVBAYTAkRFMQ0wCwYDVQQK\
        DARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMRMwEQYDVQQDDApUZXN0IE1vZGVsMB4XDTI1MDEwMTAwMDAwMFoX\
        DTQ5MDgyMzAwMDAwMFowVTELMAkGA1UEBhMCREUxDTALBgNVBAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24x\
        EzARBgNVBAMMClRlc3QgTW9kZWwwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASD-KAIs0N7NrzgqAP122OONoqq2aiK9XE85E9vknZiz0HS\
        vv_zZRtizKbW66vB9M_M8ld6P5eOjg-gTPsqRnMoozMwMTAMBgNVHRMBAf8EAjAAMCEGCysGAQQBguUcAQEEBBIEEAAAAAAAAAAAAAAAAAAA\
        AAAwCgYIKoZIzj0EAwIDSAAwRQIgUvClOzRHOSbbk42Q9dYwf4p2nLwNpdp1tNDuOHvBSFACIQDp-BRAw8cud5GdyT8xc5l_C0Eld6JCfD2H\
        ugh8UBcErGhhdXRoRGF0YViko3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIHob7ghHWvbj\
        jdAAcvMHPV24OhRTqn0rapRjsIzvdJigpQECAyYgASFYIBJv4C_eLL6OmwbA7oQ4mmLP_DrmjHh4PuleE7n_m3ULIlggzL_BxPib6_Bzhbg6\
        OglkA0BevbVlj1Xc8HTChUZPb-c","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVW\
        Z3iJmqu8zd7v8AIHob7ghHWvbjjdAAcvMHPV24OhRTqn0rapRjsIzvdJigpQECAyYgASFYIBJv4C_eLL6OmwbA7oQ4mmLP_DrmjHh4PuleE7\
        n_m3ULIlggzL_BxPib6_Bzhbg6OglkA0BevbVlj1Xc8HTChUZPb-c","transports":["internal","hybrid"],"publicKeyAlgorith\
        m":-7}}
        """

    static let otherUnit = """
        {"id":"EF5MPjElscujDymtOtHRR21LWgCudzp5_2xr0SeG1v0","rawId":"EF5MPjElscujDymtOtHRR21LWgCudzp5_2xr0SeG1v0","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEgwRgIhAKYWPLRxj2i57LIQ7jrOoYx9wQmi2K6jFZadeS7da7G5AiEAu0buP5fTMiOL\
        W86MG2RNl30uT-TpCUH23EKFaqMcTyBjeDVjgVkBsTCCAa0wggFUoAMCAQICAQEwCgYIKoZIzj0EAwIwRjELMAkGA1UEBhMCREUxDTALBgNV\
        BAoMBFRlc3QxEzARBgNVBAsMCldlYiBTZXJ2ZXIxEzARBgNVBAMMClRlc3QgTW9kZWwwHhcNMjUwMTAxMDAwMDAwWhcNNDkwODIzMDAwMDAw\
        WjBGMQswCQYDVQQGEwJERTENMAsGA1UECgwEVGVzdDETMBEGA1UECwwKV2ViIFNlcnZlcjETMBEGA1UEAwwKVGVzdCBNb2RlbDBZMBMGByqG\
        SM49AgEGCCqGSM49AwEHA0IABNpXz_sbYNWPcwUabWSK4LcHLEu53a5o3TlihGFJVpARvQcBkX_GpewsyonXHS_hM9dGem99iQ1Bc7WAJSaI\
        yzijMzAxMAwGA1UdEwEB_wQCMAAwIQYLKwYBBAGC5RwBAQQEEgQQABEiM0RVZneImaq7zN3u_zAKBggqhkjOPQQDAgNHADBEAiBT25DyqTBE\
        I5IuoW2aLYKHOvV-SWHobg4G3ce8799M9gIgIUkZ4zQj9ohjGWFn7q6mnG7kxD8sS56toDNTTEDlUg1oYXV0aERhdGFYpKN5pvbur7mlXjeM\
        EYA04nUeaC-rny0wqxPSElWGzhlHRQAAAAEAESIzRFVmd4iZqrvM3e7_ACAQXkw-MSWxy6MPKa060dFHbUtaAK53Onn_bGvRJ4bW_aUBAgMm\
        IAEhWCB4PYfwdiUtxRH9tXiu8UyLFpkT_8Do5DmQMTBnTwy8wiJYIGisMDffqBmzc3RAz_w9WPv3IiRM5P1ofsaHIVTIhNWa","authentic\
        atorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIBBeTD4xJbHLow8prTrR0UdtS\
        1oArnc6ef9sa9Enhtb9pQECAyYgASFYIHg9h_B2JS3FEf21eK7xTIsWmRP_wOjkOZAxMGdPDLzCIlggaKwwN9-oGbNzdEDP_D1Y-_ciJEzk_\
        Wh-xochVMiE1Zo","transports":["internal","hybrid"],"publicKeyAlgorithm":-7}}
        """

    static let authority = """
        {"id":"U-71RSHOHUicvAGjB3mqAZPIWwZg8wIw3d2rbXGVfqc","rawId":"U-71RSHOHUicvAGjB3mqAZPIWwZg8wIw3d2rbXGVfqc","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEcwRQIhAJkD5hQDMoDA-vy82Mj0E3kjhCr7bhHUns_EUJ2WPrccAiBpLgITlfgRMPUN\
        piP9xn4MdLgupW2Rj9VmUh9npwEccGN4NWOBWQHSMIIBzjCCAXWgAwIBAgIBATAKBggqhkjOPQQDAjBVMQswCQYDVQQGEwJERTENMAsGA1UE\
        CgwEVGVzdDEiMCAGA1UECwwZQXV0aGVudGljYXRvciBBdHRlc3RhdGlvbjETMBEGA1UEAwwKVGVzdCBNb2RlbDAeFw0yNTAxMDEwMDAwMDBa\
        Fw00OTA4MjMwMDAwMDBaMFUxCzAJBgNVBAYTAkRFMQ0wCwYDVQQKDARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9u\
        MRMwEQYDVQQDDApUZXN0IE1vZGVsMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAED70utVH1b0cXiG1Xha9kjwEgPWdO2EIwPVGY2SbgnpEh\
        A7zBzvnYTNe13_fiSAU3Mbr1H63fVqK7WfJMrTeG76M2MDQwDwYDVR0TAQH_BAUwAwEB_zAhBgsrBgEEAYLlHAEBBAQSBBAAESIzRFVmd4iZ\
        qrvM3e7_MAoGCCqGSM49BAMCA0cAMEQCIDhuwJFT4dR7oQDnQBpieRwmUGLUrYANTNMYr3i2eKeoAiBHamZGxBK9H46ecKlLXIp64jXtjWeI\
        YV5r62Ss0n3alWhhdXRoRGF0YViko3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIFPu9UUh\
        zh1InLwBowd5qgGTyFsGYPMCMN3dq21xlX6npQECAyYgASFYIIUAoOEPTdZ44JMk7j6a80O6iTVao1rDBwERVLwQxRlyIlggKpf0ZAeiFucb\
        0eLKanmXpE8OUPvK14XpHoPjhENfqLc","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIj\
        NEVWZ3iJmqu8zd7v8AIFPu9UUhzh1InLwBowd5qgGTyFsGYPMCMN3dq21xlX6npQECAyYgASFYIIUAoOEPTdZ44JMk7j6a80O6iTVao1rDBw\
        ERVLwQxRlyIlggKpf0ZAeiFucb0eLKanmXpE8OUPvK14XpHoPjhENfqLc","transports":["internal","hybrid"],"publicKeyAlgo\
        rithm":-7}}
        """

    static let criticalModel = """
        {"id":"QLn7C4yJk1O4w2abEPHfeMmHhR-ZPowM3vak2BHIoHs","rawId":"QLn7C4yJk1O4w2abEPHfeMmHhR-ZPowM3vak2BHIoHs","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEYwRAIgbriuNSsYBMPrbX77tXZReCYmQGTQhylXhU6wPMeuz3kCIA237NS_Sk_hnQMV\
        r1qe403y_zZKH8UJFbK8PeEOS3VEY3g1Y4FZAdIwggHOMIIBdaADAgECAgEBMAoGCCqGSM49BAMCMFUxCzAJBgNVBAYTAkRFMQ0wCwYDVQQK\
        DARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMRMwEQYDVQQDDApUZXN0IE1vZGVsMB4XDTI1MDEwMTAwMDAwMFoX\
        DTQ5MDgyMzAwMDAwMFowVTELMAkGA1UEBhMCREUxDTALBgNVBAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24x\
        EzARBgNVBAMMClRlc3QgTW9kZWwwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAToAmuPR8MhmAb7oXKQaU7Avg5Sot7bKeItePOyQI9K0B0u\
        X5hT96sn-H1BYK3Hpsed9uO6XO9kCgsMs6ciC1z8ozYwNDAMBgNVHRMBAf8EAjAAMCQGCysGAQQBguUcAQEEAQH_BBIEEAARIjNEVWZ3iJmq\
        u8zd7v8wCgYIKoZIzj0EAwIDRwAwRAIgOYbsk3xePHBogEUkvgT_cQKFeAxkbpNjSTCw-ozuYuwCIGCKkBdonxYkWyfzuo8JUk0N_IxUo6KV\
        ifdYPOFW-MzVaGF1dGhEYXRhWKSjeab27q-5pV43jBGANOJ1Hmgvq58tMKsT0hJVhs4ZR0UAAAABABEiM0RVZneImaq7zN3u_wAgQLn7C4yJ\
        k1O4w2abEPHfeMmHhR-ZPowM3vak2BHIoHulAQIDJiABIVggdezOo4p5ZtZjHwyt4zRPngQBy1W2noMwetBHMLnP5qYiWCA-ed7a-QBEnfRt\
        ddk5dV0yMxdw-vqo21SurOsYR86TTw","authenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjN\
        EVWZ3iJmqu8zd7v8AIEC5-wuMiZNTuMNmmxDx33jJh4UfmT6MDN72pNgRyKB7pQECAyYgASFYIHXszqOKeWbWYx8MreM0T54EActVtp6DMHr\
        QRzC5z-amIlggPnne2vkARJ30bXXZOXVdMjMXcPr6qNtUrqzrGEfOk08","transports":["internal","hybrid"],"publicKeyAlgor\
        ithm":-7}}
        """

    static let withoutCountry = """
        {"id":"bZaMZz0mZmEsv-qxSn7UsF7Z6Gn9NaOUrC4lq0lzcCg","rawId":"bZaMZz0mZmEsv-qxSn7UsF7Z6Gn9NaOUrC4lq0lzcCg","t\
        ype":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJS\
        ON":"eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h\
        3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vbG9naW4uZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9","attestationObject":"\
        o2NmbXRmcGFja2VkZ2F0dFN0bXSjY2FsZyZjc2lnWEcwRQIgBQ_b7nrncLoy1-XU-VwysYDXmu_jGYYcbqrS8aiP0K8CIQDDVUVuITjHw6R-\
        1ogrdvwn6q2du8F978E1fxYAEbdGkGN4NWOBWQG3MIIBszCCAVigAwIBAgIBATAKBggqhkjOPQQDAjBIMQ0wCwYDVQQKDARUZXN0MSIwIAYD\
        VQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMRMwEQYDVQQDDApUZXN0IE1vZGVsMB4XDTI1MDEwMTAwMDAwMFoXDTQ5MDgyMzAwMDAw\
        MFowSDENMAsGA1UECgwEVGVzdDEiMCAGA1UECwwZQXV0aGVudGljYXRvciBBdHRlc3RhdGlvbjETMBEGA1UEAwwKVGVzdCBNb2RlbDBZMBMG\
        ByqGSM49AgEGCCqGSM49AwEHA0IABBttZJvcY7rc0YnQI1ARhFC_gPq6exNpK1OnLpS9nUUHMdzKR9nCCuYkjWFWn-E2r0WcSVqhPRuLToik\
        J-h0Yq6jMzAxMAwGA1UdEwEB_wQCMAAwIQYLKwYBBAGC5RwBAQQEEgQQABEiM0RVZneImaq7zN3u_zAKBggqhkjOPQQDAgNJADBGAiEAkNWp\
        GilhMtKk6OIiuEy-8Qt892FLO7PainbdyOGQfLwCIQDuc1Miosou7Zm7i15V3fEiVXonkzkRqCmGmRWnf_AczGhhdXRoRGF0YViko3mm9u6v\
        uaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIG2WjGc9JmZhLL_qsUp-1LBe2ehp_TWjlKwuJatJc3Ao\
        pQECAyYgASFYIDe0er6vAVAgse-0dZcMcEOsTeo73AbV1PhQ3VAhy07LIlggYmTF83KEOxQI_qK3W7GXuDolKvuOQQbbQ7szZ03D_Sg","au\
        thenticatorData":"o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUdFAAAAAQARIjNEVWZ3iJmqu8zd7v8AIG2WjGc9JmZhLL_qsU\
        p-1LBe2ehp_TWjlKwuJatJc3AopQECAyYgASFYIDe0er6vAVAgse-0dZcMcEOsTeo73AbV1PhQ3VAhy07LIlggYmTF83KEOxQI_qK3W7GXuD\
        olKvuOQQbbQ7szZ03D_Sg","transports":["internal","hybrid"],"publicKeyAlgorithm":-7}}
        """

    static let all = [
        Vector(name: "es256", registration: es256Registration, assertion: es256Assertion),
        Vector(name: "edDSA", registration: edDSARegistration, assertion: edDSAAssertion),
        Vector(name: "rs256", registration: rs256Registration, assertion: rs256Assertion),
        Vector(name: "es256Packed", registration: es256PackedRegistration, assertion: es256PackedAssertion),
        Vector(name: "edDSAPacked", registration: edDSAPackedRegistration, assertion: edDSAPackedAssertion),
        Vector(name: "rs256Packed", registration: rs256PackedRegistration, assertion: rs256PackedAssertion),
        Vector(name: "es256Certified", registration: es256CertifiedRegistration, assertion: es256CertifiedAssertion),
        Vector(name: "rs256Certified", registration: rs256CertifiedRegistration, assertion: rs256CertifiedAssertion),
        Vector(name: "synced", registration: syncedRegistration, assertion: syncedAssertion),
        Vector(name: "extended", registration: extendedRegistration, assertion: extendedAssertion),
    ]
}

/// A registration and the use of its passkey.
struct Vector: Sendable, CustomTestStringConvertible {
    let name: String
    let registration: String
    let assertion: String

    var testDescription: String { self.name }
}
